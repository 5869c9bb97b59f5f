import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import {
  STREAM_ENDING_MS_MAX,
  STREAM_EVICTED_MS_MAX,
  STREAM_HEARTBEAT_MS,
  STREAM_RETRY_MS,
  STREAMS_EVICTED_BYTES_MAX,
  STREAMS_EVICTED_MAX,
} from "../../core/limits.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import {
  type Batch,
  type Chunk,
  type Notice,
  notice,
  type StreamEnd,
  streamError,
} from "../../session/index.ts";
import { EVENT_STREAM_TYPE, HEARTBEAT, retryLine, sseFrame } from "../../wire/sse.ts";
import type { AnswerHeaders } from "./answer.ts";

/** The source of a stream: a subscription to a session, or to a tenant's sessions. */
export interface EventSource {
  next(): Promise<IteratorResult<Chunk, undefined>>;
  /** The client has disconnected. */
  cancel(): void;
  /** Ends the source from the server's side, with a last frame. */
  end(last: Notice | null): void;
  /** Resolves when no new frame will come, if the source knows it before the reader does. */
  readonly ending?: Promise<StreamEnd>;
}

export interface StreamOptions {
  readonly clock: Clock;
  /** How long one write may take before the client is evicted; null is no limit. */
  readonly writerIdleTimeoutMs: number | null;
  /** Reports an unexpected error. */
  failed(error: unknown): void;
}

/** Told of a stream whose reader was evicted and that stays open for a while. */
type Evicted = (stream: EventStream) => void;

/**
 * Writes one source to one socket. It reads on only when the socket has capacity, so frames for a
 * slow client wait in the source, which decides about them; no other client waits (P10). When the
 * source has ended, the rest must be sent within a time limit.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #source: EventSource;
  readonly #options: StreamOptions;
  #callOffHeartbeat: CallOff = () => {};
  #callOffEnd: CallOff = () => {};
  /** The client has not read the last write yet. */
  #isWaiting = false;
  #isEnding = false;
  readonly #evicted: Evicted;
  /** How long the rest may take, once no new frame will come. */
  #endingMs = STREAM_ENDING_MS_MAX;

  constructor(
    response: ServerResponse,
    source: EventSource,
    options: StreamOptions,
    evicted: Evicted = () => {},
  ) {
    this.#response = response;
    this.#source = source;
    this.#options = options;
    this.#evicted = evicted;
  }

  /** What waits for the reader in memory. */
  get unreadBytes(): number {
    return this.#response.writableLength;
  }

  /** Gives up what its reader has not read. */
  cut() {
    this.#response.destroy();
  }

  /** Runs until either side ends the stream. The head has been sent before. */
  async run(): Promise<void> {
    const cancel = () => this.#source.cancel();
    this.#response.once("close", cancel);
    void this.#source.ending?.then((how) => this.#startEnding(how));
    try {
      if (this.#response.destroyed) cancel();
      this.#response.write(retryLine(STREAM_RETRY_MS));
      this.#beatLater();
      await this.#pump();
    } catch (error) {
      this.#options.failed(error);
      const last = streamError("Internal server error", "internal_error");
      this.#response.write(sseFrame(null, last.text));
    } finally {
      this.#callOffHeartbeat();
      this.#source.cancel();
      await this.#finish();
      this.#callOffEnd();
    }
  }

  end(last: Notice) {
    this.#source.end(last);
    this.#endingMs = STREAM_ENDING_MS_MAX;
    this.#startEnding("ended");
  }

  async #pump(): Promise<void> {
    for (;;) {
      const { done, value: chunk } = await this.#source.next();
      if (done || this.#response.destroyed) return;
      this.#write(chunk);
      if (this.#needsDrain) await this.#drained();
    }
  }

  /**
   * Node would add the head and the end of an HTTP chunk to each write, as writes of their own. The
   * bytes of a batch have both already, the same for all readers: so they go to the socket as they
   * are, behind all that the response has written to it.
   */
  #write(chunk: Chunk) {
    const { socket, chunkedEncoding } = this.#response;
    // Behind an answer that is still being sent there is no socket; HTTP/1.0 has no such chunks.
    if (!socket?.writable || !chunkedEncoding) {
      for (const batch of chunk) this.#response.write(batchBytes(batch).content);
      return;
    }
    if (chunk.length > 1) socket.cork();
    for (const batch of chunk) socket.write(batchBytes(batch).httpChunk);
    if (chunk.length > 1) socket.uncork();
  }

  /** The client has to read before more is written. */
  get #needsDrain(): boolean {
    const { socket, writableNeedDrain } = this.#response;
    return writableNeedDrain || socket?.writableNeedDrain === true;
  }

  /** Waits until the client has read enough, or is evicted. */
  async #drained(): Promise<void> {
    const { clock, writerIdleTimeoutMs } = this.#options;
    const sinceMs = clock.nowMs();
    const evict = () => this.#evict(clock.nowMs() - sinceMs);
    const callOff = writerIdleTimeoutMs === null ? null : clock.after(writerIdleTimeoutMs, evict);
    await this.#waitFor("drain", this.#response.socket ?? this.#response);
    callOff?.();
  }

  #evict(idleForMs: number) {
    const reason = "writer_idle_timeout";
    const timeoutMs = this.#options.writerIdleTimeoutMs;
    const last = notice("client_evicted", { reason, errorKind: reason, idleForMs, timeoutMs });
    this.#source.end(last);
    this.#startEnding("evicted");
  }

  async #finish(): Promise<void> {
    this.#isEnding = true;
    this.#response.end();
    if (!this.#response.writableFinished && !this.#response.destroyed) {
      await this.#waitFor("finish", this.#response);
    }
  }

  async #waitFor(event: "drain" | "finish", writer: Writable): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    writer.once(event, resolve);
    this.#response.once("close", resolve);
    this.#isWaiting = true;
    this.#limitWait();
    await promise;
    this.#isWaiting = false;
    this.#callOffEnd();
    writer.off(event, resolve);
    this.#response.off("close", resolve);
  }

  #startEnding(how: StreamEnd) {
    if (how === "evicted" && !this.#isEnding) {
      this.#endingMs = STREAM_EVICTED_MS_MAX;
      this.#evicted(this);
    }
    this.#isEnding = true;
    this.#limitWait();
  }

  /** No new frame will come: a client that does not read the rest is disconnected. */
  #limitWait() {
    if (!this.#isEnding || !this.#isWaiting) return;
    const { clock } = this.#options;
    this.#callOffEnd();
    this.#callOffEnd = clock.after(this.#endingMs, () => this.cut());
  }

  /** A client that does not read gets no heartbeats: they would pile up. */
  #beatLater() {
    this.#callOffHeartbeat = this.#options.clock.after(STREAM_HEARTBEAT_MS, () => {
      if (this.#response.destroyed) return;
      if (!this.#needsDrain) this.#response.write(HEARTBEAT);
      this.#beatLater();
    });
  }
}

/** All open streams of a server. */
export class EventStreams {
  readonly #options: StreamOptions;
  readonly #freshId: () => string;
  readonly #open = new Set<EventStream>();
  /** Those whose readers were evicted and have not read yet, oldest first. */
  readonly #evicted = new Set<EventStream>();

  constructor(options: StreamOptions, freshId: () => string) {
    this.#options = options;
    this.#freshId = freshId;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Sends the head with the first line at once: clients time out waiting for it. */
  async serve(
    response: ServerResponse,
    source: EventSource,
    epoch: string | null,
    headers: AnswerHeaders,
  ): Promise<void> {
    this.sendHead(response, epoch, headers);
    const keep = (evicted: EventStream) => this.#keep(evicted);
    const stream = new EventStream(response, source, this.#options, keep);
    this.#open.add(stream);
    try {
      await stream.run();
    } finally {
      this.#open.delete(stream);
      this.#evicted.delete(stream);
    }
  }

  /** Readers that stopped cannot fill the memory: the oldest are cut off for the newest (P10). */
  #keep(stream: EventStream) {
    this.#evicted.add(stream);
    let bytes = 0;
    for (const one of this.#evicted) bytes += one.unreadBytes;
    for (const oldest of this.#evicted) {
      const fits = bytes <= STREAMS_EVICTED_BYTES_MAX && this.#evicted.size <= STREAMS_EVICTED_MAX;
      if (fits || oldest === stream) return;
      bytes -= oldest.unreadBytes;
      this.#evicted.delete(oldest);
      oldest.cut();
    }
  }

  /** Sends the head only, as for HEAD. */
  sendHead(response: ServerResponse, epoch: string | null, headers: AnswerHeaders): ServerResponse {
    return response.writeHead(200, { ...headers, ...this.#head(epoch) });
  }

  endAll(last: Notice) {
    for (const stream of this.#open) stream.end(last);
  }

  /** Proxies must neither buffer nor change frames. */
  #head(epoch: string | null): AnswerHeaders {
    return {
      "Content-Type": EVENT_STREAM_TYPE,
      "Cache-Control": "no-cache, no-transform",
      Connection: "keep-alive",
      "X-Accel-Buffering": "no",
      "X-Qwen-SSE-Stream-Id": this.#freshId(),
      ...(epoch === null ? {} : { "X-Qwen-Event-Epoch": epoch }),
    };
  }
}

/** A batch as it is sent. */
interface BatchBytes {
  readonly content: Buffer;
  /** The same bytes as one chunk of HTTP/1.1. */
  readonly httpChunk: Buffer;
}

/** As long as the longest size with its line break. */
const SIZE_GAP = " ".repeat(10);

const known = new WeakMap<Batch, BatchBytes>();

/**
 * The bytes of a batch. Subscribers that keep up get the same batch, so it is encoded once, and the
 * bytes live as long as the batch.
 */
export function batchBytes(batch: Batch): BatchBytes {
  const written = known.get(batch);
  if (written !== undefined) return written;
  const text = batch.frames.map((frame) => sseFrame(frame.id, frame.text, frame.type)).join("");
  // The size comes before the bytes and is known after them: so they are encoded with a gap.
  const whole = Buffer.from(`${SIZE_GAP}${text}\r\n`);
  const size = whole.length - SIZE_GAP.length - 2;
  const head = `${size.toString(16)}\r\n`;
  const start = SIZE_GAP.length - head.length;
  whole.write(head, start, "latin1");
  const content = whole.subarray(SIZE_GAP.length, SIZE_GAP.length + size);
  // A chunk of no bytes would be the end of the stream.
  const bytes = { content, httpChunk: size === 0 ? content : whole.subarray(start) };
  known.set(batch, bytes);
  return bytes;
}
