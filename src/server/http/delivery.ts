import type { ServerResponse } from "node:http";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { ANSWER_STALL_MS_MAX, FILES_SENT_MAX } from "../../core/limits.ts";
import type { Clock } from "../../platform/clock.ts";
import {
  type Answer,
  type AnswerFate,
  type AnswerHeaders,
  type ReadyAnswer,
  refused,
} from "./answer.ts";
import { connectionOf, type LastAnswer } from "./connection.ts";
import type { EventStreams } from "./event-stream.ts";

type FileAnswer = Extract<Answer, { kind: "file" }>;
type TextAnswer = Extract<Answer, { kind: "json" | "pieces" | "html" }>;

/** Sent with every answer: browsers must not guess the type of a body. */
const ALWAYS = { "X-Content-Type-Options": "nosniff" };

/** Answers may need a token, so caches must not store them. */
const NOT_KEPT = { "Cache-Control": "no-store" };

export interface AnswerWriterDeps {
  readonly streams: EventStreams;
  readonly clock: Clock;
  /** Reports an unexpected error. */
  failed(error: unknown): void;
}

/** Writes answers to sockets, each to its end or until the connection closes. */
export class AnswerWriter {
  readonly #deps: AnswerWriterDeps;

  constructor(deps: AnswerWriterDeps) {
    this.#deps = deps;
  }

  /** Sends only the head for HEAD, and releases the source of the body. */
  async deliver(
    answer: ReadyAnswer,
    response: ServerResponse,
    isHead: boolean,
    more: AnswerHeaders,
  ) {
    const last = lastAnswer(answer, response);
    this.#reportFate(answer, response, last);
    const headers = { ...ALWAYS, ...answer.headers, ...more, ...(last && LAST) };
    if (response.destroyed || isHead) releaseSource(answer);
    if (response.destroyed) return;
    switch (answer.kind) {
      case "json":
      case "pieces":
      case "html":
        sendText(response, answer, headers);
        break;
      case "empty":
        response.writeHead(answer.status ?? 204, headers).end();
        break;
      case "file":
        response.writeHead(200, { ...NOT_KEPT, ...headers, "Content-Type": answer.mediaType });
        if (isHead) response.end();
        else await this.#sendPieces(response, answer);
        break;
      case "events":
        if (isHead) {
          answer.source.cancel();
          this.#deps.streams.sendHead(response, answer.epoch, headers).end();
        } else {
          await this.#deps.streams.serve(response, answer.source, answer.epoch, headers);
        }
    }
    if (response.writableLength > 0) await this.#waitFor("finish", response);
  }

  /**
   * Reports "delivered" when the system has the whole answer, "lost" if the connection closes
   * before. A last answer is reported when the client ends the connection, or does not.
   */
  #reportFate({ afterwards }: ReadyAnswer, response: ServerResponse, last: LastAnswer | null) {
    const report = (fate: AnswerFate) => {
      try {
        afterwards?.(fate);
      } catch (error) {
        this.#deps.failed(error);
      }
    };
    if (response.destroyed) return report("lost");
    const lose = () => {
      last?.close();
      report("lost");
    };
    const sent = () => {
      response.off("close", lose);
      if (last !== null && !last.isHalfClosed) return last.whenEnded(this.#deps.clock, report);
      last?.close();
      report("delivered");
    };
    response.once("finish", sent).once("close", lose);
  }

  /**
   * Closes the connection on a failure, so that no client takes a part for the whole. Pieces may
   * come without any wait, so other requests get their turn after each (P10).
   */
  async #sendPieces(response: ServerResponse, { pieces }: FileAnswer): Promise<void> {
    try {
      for await (const piece of pieces) {
        if (response.destroyed) return;
        if (!response.write(piece)) await this.#waitFor("drain", response);
        await yieldToEventLoop();
      }
      response.end();
    } catch (error) {
      // Without a reader a file breaks off, as it has to.
      if (!response.destroyed) this.#deps.failed(error);
      response.destroy();
    }
  }

  /** Gives up an answer that the client does not read (P10). */
  async #waitFor(event: "drain" | "finish", response: ServerResponse): Promise<void> {
    if (response.destroyed) return;
    const callOff = this.#deps.clock.after(ANSWER_STALL_MS_MAX, () => response.destroy());
    const { promise: over, resolve } = Promise.withResolvers<void>();
    response.once("close", resolve).once(event, resolve);
    await over;
    response.off("close", resolve).off(event, resolve);
    callOff();
  }
}

const LAST = { Connection: "close" };

/** The answer as the last one of its connection, if it is to be acknowledged and can be. */
function lastAnswer(
  { wantsAcknowledgement }: ReadyAnswer,
  response: ServerResponse,
): LastAnswer | null {
  if (!wantsAcknowledgement || response.destroyed) return null;
  const connection = connectionOf(response.req);
  return connection.canAcknowledge(response.req) ? connection.answerLast() : null;
}

/** Writes a text with what comes with every answer. */
export function sendText(response: ServerResponse, answer: TextAnswer, more: AnswerHeaders = {}) {
  const { kind, status } = answer;
  const headers = { ...NOT_KEPT, ...ALWAYS, ...answer.headers, ...more };
  const body = kind === "pieces" ? bytesOf(answer.texts) : sentText(answer.text);
  const length = `${Buffer.byteLength(body)}`;
  const type = { "Content-Type": MEDIA_TYPES[kind], "Content-Length": length };
  response.writeHead(status, { ...headers, ...type }).end(body);
}

/** A long text is looked through once for its length and its bytes, and not copied to its head. */
function sentText(text: string): string | Buffer {
  return text.length > TEXT_SENT_CHARS_MAX ? Buffer.from(text) : text;
}

/** Node sends a text that is no longer together with its head, in one write. */
const TEXT_SENT_CHARS_MAX = 16 * 1_024;

/** Put together as text first, a large answer would be copied once more. */
function bytesOf(texts: readonly string[]): Buffer {
  const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const bytes = Buffer.allocUnsafe(length);
  let end = 0;
  for (const text of texts) end += bytes.write(text, end);
  return bytes;
}

const MEDIA_TYPES = {
  json: "application/json; charset=utf-8",
  pieces: "application/json; charset=utf-8",
  html: "text/html; charset=utf-8",
} as const;

function releaseSource(answer: ReadyAnswer) {
  if (answer.kind === "events") answer.source.cancel();
}

/**
 * Limits how many files of one tenant are sent at a time, so that no tenant occupies the store
 * (P10).
 */
export class SentFiles {
  readonly #counts = new Map<TenantId, number>();

  /** Counts the answer until its end; a file too many is refused. */
  counted(tenantId: TenantId, answer: Answer): Answer {
    if (answer.kind !== "file") return answer;
    const count = this.#counts.get(tenantId) ?? 0;
    const { afterwards } = answer;
    if (count >= FILES_SENT_MAX) {
      afterwards?.("lost");
      return refused(refusal("file_limit_exceeded", LIMIT));
    }
    this.#counts.set(tenantId, count + 1);
    return {
      ...answer,
      afterwards: (fate) => {
        this.#ended(tenantId);
        afterwards?.(fate);
      },
    };
  }

  #ended(tenantId: TenantId) {
    const left = (this.#counts.get(tenantId) ?? 1) - 1;
    if (left > 0) this.#counts.set(tenantId, left);
    else this.#counts.delete(tenantId);
  }
}

const LIMIT = { limit: FILES_SENT_MAX };

/**
 * Ends a file in the middle when its reader may read no more, or its tenant is deleted. Deletion
 * does not wait for slow readers, and a new tenant may take the name meanwhile: nothing of the new
 * one may be in the file (P8).
 */
export async function* allowedPieces<Piece>(
  pieces: AsyncIterable<Piece>,
  ending: AbortSignal,
): AsyncGenerator<Piece> {
  const mustBeAllowed = () => {
    if (ending.aborted) throw new Error("its reader may read no more, or its tenant is deleted");
  };
  mustBeAllowed();
  for await (const piece of pieces) {
    mustBeAllowed();
    yield piece;
    mustBeAllowed();
  }
  mustBeAllowed();
}
