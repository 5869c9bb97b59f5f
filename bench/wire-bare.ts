import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { rawDatabase } from "./raw-database.ts";
import { stamp } from "./wire-client.ts";

/** As counted on the wire: the data of one of an agent's chunks of a hundred bytes. */
export const FRAME_BYTES = 440;

/** How many frames, and how many bytes of text in each. */
interface Repeated {
  readonly count: number;
  readonly bytes: number;
}

/** A request to a bare server. */
interface Frames extends Repeated {
  /** How many a second; 0 for all at once. */
  readonly rate: number;
  /** Whether it is on the disk before it is answered. */
  readonly isKept: boolean;
}

/**
 * The floor for a session server: `node:http`, and a raw commit where a request wants one. It
 * authenticates no callers. A stream receives what is posted to its path. As a program, it prints
 * its address.
 */
export class BareServer {
  readonly #http = createServer((incoming, response) => this.#serve(incoming, response));
  readonly #streams = new Map<string, ServerResponse[]>();
  readonly #replays = new Map<string, Buffer>();
  readonly #disk: Database.Statement | null;
  #lastId = 0;
  #kept = 0;

  /** With a folder it can keep requests. */
  constructor(folder: string | null = null) {
    const raw = folder === null ? null : rawDatabase(join(folder, "raw.db"));
    this.#disk = raw?.prepare("INSERT INTO events VALUES (1, ?, ?)") ?? null;
  }

  async listen(): Promise<number> {
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
    return (this.#http.address() as AddressInfo).port;
  }

  streamsOf(path: string): readonly ServerResponse[] {
    return this.#streams.get(path) ?? [];
  }

  close() {
    this.#http.closeAllConnections();
    this.#http.close();
  }

  #serve(incoming: IncomingMessage, response: ServerResponse) {
    const url = new URL(incoming.url ?? "/", "http://bare");
    if (url.pathname === "/health") {
      response.end("ok");
      return;
    }
    const of = (name: string) => Number(url.searchParams.get(name) ?? 0);
    const count = of("frames");
    const frames = { count, bytes: of("bytes"), rate: of("rate"), isKept: of("kept") === 1 };
    if (incoming.method === "POST") {
      incoming.resume().on("end", () => this.#answer(url.pathname, frames, response));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 3000\n\n");
    this.#streams.set(url.pathname, [...this.streamsOf(url.pathname), response]);
    response.on("close", () => this.#forget(url.pathname, response));
    if (count > 0) response.write(this.#replay(frames));
  }

  /** Answers, and then writes a turn to the streams of this path, event by event. */
  #answer(path: string, frames: Frames, response: ServerResponse) {
    const texts = frames.rate > 0 ? [] : this.#texts(frames);
    const lastEventId = this.#lastId + frames.count - texts.length;
    const text = JSON.stringify({ lastEventId, answer: "x".repeat(230) });
    this.#kept += 1;
    if (frames.isKept) this.#disk?.run(this.#kept, text);
    const headers = { "content-type": "application/json", "content-length": `${text.length}` };
    response.writeHead(200, headers).end(text);
    const streams = this.streamsOf(path);
    if (frames.rate > 0) this.#writePaced(streams, frames);
    for (const stream of streams) {
      for (const frame of texts) stream.write(frame);
      if (texts.length > 0) stream.write("event: turn_complete\n\n");
    }
  }

  /** Writes what is due at each tick, each frame with its time. */
  #writePaced(streams: readonly ServerResponse[], { count, bytes, rate }: Frames) {
    const startedMs = performance.now();
    let written = 0;
    const timer = setInterval(() => {
      const due = Math.min(count, Math.ceil(((performance.now() - startedMs) * rate) / 1_000));
      for (; written < due; written += 1) {
        this.#lastId += 1;
        const frame = frameOf(this.#lastId, `${stamp()}${"x".repeat(bytes)}`.slice(0, bytes));
        for (const stream of streams) stream.write(frame);
      }
      if (written === count) clearInterval(timer);
    }, 1);
  }

  /** Cached, because a floor should do as little as possible per request. */
  #replay(frames: Repeated): Buffer {
    const name = `${frames.count} of ${frames.bytes}`;
    const known = this.#replays.get(name);
    if (known !== undefined) return known;
    const made = Buffer.from(`${this.#texts(frames).join("")}event: replay_complete\n\n`);
    this.#replays.set(name, made);
    return made;
  }

  #texts({ count, bytes }: Repeated): readonly string[] {
    const text = "x".repeat(bytes);
    return Array.from({ length: count }, () => {
      this.#lastId += 1;
      return frameOf(this.#lastId, text);
    });
  }

  #forget(path: string, gone: ServerResponse) {
    const left = this.streamsOf(path).filter((response) => response !== gone);
    this.#streams.set(path, left);
  }
}

function frameOf(id: number, text: string): string {
  return `id: ${id}\nevent: session_update\ndata: ${text}\n\n`;
}

if (import.meta.main) {
  const bare = new BareServer(process.argv[2] ?? null);
  console.log(`listening on http://127.0.0.1:${await bare.listen()}`);
}
