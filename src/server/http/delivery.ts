import type { ServerResponse } from "node:http";
import { setImmediate as everybodyElse } from "node:timers/promises";
import { refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { ANSWER_STALL_MS_MAX, FILES_SENT_MAX } from "../../core/limits.ts";
import type { Clock } from "../../session/world.ts";
import { type Answer, type AnswerHeaders, refused } from "./answer.ts";
import type { EventStreams } from "./event-stream.ts";

type FileAnswer = Extract<Answer, { kind: "file" }>;

/** Sent with every answer: nobody is to guess what a body is. */
const ALWAYS = { "X-Content-Type-Options": "nosniff" };

/** Nobody keeps what was answered to somebody who had to show a token. */
const NOT_KEPT = { "Cache-Control": "no-store" };

export interface DeliveryParts {
  readonly streams: EventStreams;
  readonly clock: Clock;
  /** Something failed that nobody foresaw. */
  failed(error: unknown): void;
}

/** Writes answers to sockets, each to its end or to the end of the connection. */
export class Delivery {
  readonly #parts: DeliveryParts;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** For HEAD only the head is sent; whatever would have fed the body is let go. */
  async deliver(answer: Answer, response: ServerResponse, isHead: boolean, more: AnswerHeaders) {
    this.#tellFate(answer, response);
    const headers = { ...ALWAYS, ...answer.headers, ...more };
    if (response.destroyed || isHead) letGo(answer);
    if (response.destroyed) return;
    switch (answer.kind) {
      case "json":
        sendText(response, answer.status, answer.text, { ...NOT_KEPT, ...headers });
        break;
      case "empty":
        response.writeHead(204, headers).end();
        break;
      case "file":
        response.writeHead(200, { ...NOT_KEPT, ...headers, "Content-Type": answer.mediaType });
        if (isHead) response.end();
        else await this.#sendPieces(response, answer);
        break;
      case "events":
        if (isHead) {
          answer.source.cancel();
          this.#parts.streams.greet(response, answer.epoch, headers).end();
        } else {
          await this.#parts.streams.serve(response, answer.source, answer.epoch, headers);
        }
    }
    if (response.writableLength > 0) await this.#waitFor("finish", response);
  }

  /** It is delivered when the system has all of it, and lost if it is closed before that. */
  #tellFate({ afterwards }: Answer, response: ServerResponse) {
    let isTold = afterwards === undefined;
    const tell = (fate: "delivered" | "lost") => {
      if (isTold) return;
      isTold = true;
      try {
        afterwards?.(fate);
      } catch (error) {
        this.#parts.failed(error);
      }
    };
    if (response.destroyed) return tell("lost");
    response.once("finish", () => tell("delivered")).once("close", () => tell("lost"));
  }

  /**
   * What fails in the middle is cut off, so that a part is never taken for the whole. A piece may
   * come without any wait, so after each of them it is everybody else's turn (P10).
   */
  async #sendPieces(response: ServerResponse, { pieces }: FileAnswer): Promise<void> {
    try {
      for await (const piece of pieces) {
        if (response.destroyed) return;
        if (!response.write(piece)) await this.#waitFor("drain", response);
        await everybodyElse();
      }
      response.end();
    } catch (error) {
      this.#parts.failed(error);
      response.destroy();
    }
  }

  /** An answer that nobody takes any more is not kept for ever (P10). */
  async #waitFor(event: "drain" | "finish", response: ServerResponse): Promise<void> {
    if (response.destroyed) return;
    const callOff = this.#parts.clock.after(ANSWER_STALL_MS_MAX, () => response.destroy());
    const { promise: over, resolve } = Promise.withResolvers<void>();
    response.once("close", resolve).once(event, resolve);
    await over;
    response.off("close", resolve).off(event, resolve);
    callOff();
  }
}

function sendText(response: ServerResponse, status: number, text: string, headers: AnswerHeaders) {
  const length = `${Buffer.byteLength(text)}`;
  const kind = { "Content-Type": "application/json; charset=utf-8", "Content-Length": length };
  response.writeHead(status, { ...headers, ...kind }).end(text);
}

function letGo(answer: Answer) {
  if (answer.kind === "events") answer.source.cancel();
}

/** The files that are on their way, by whose they are: nobody has the store to themselves (P10). */
export class SentFiles {
  readonly #counts = new Map<TenantId, number>();

  /** The answer as it is, counted until its end; or, if it is a file too many, a refusal. */
  counted(tenantId: TenantId, answer: Answer): Answer {
    if (answer.kind !== "file") return answer;
    const count = this.#counts.get(tenantId) ?? 0;
    if (count >= FILES_SENT_MAX) return refused(refusal("file_limit_exceeded", LIMIT));
    this.#counts.set(tenantId, count + 1);
    const { afterwards } = answer;
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
 * The pieces of a file that is read from a tenant while it is sent. Nobody waits for slow readers
 * before a tenant is deleted, and another may have its name by the time that they come back: so a
 * file ends in the middle as soon as its tenant does, and nothing of the next one is in it (P8).
 */
export async function* tenantPieces<Piece>(
  pieces: AsyncIterable<Piece>,
  ending: AbortSignal,
): AsyncGenerator<Piece> {
  const mustBeThere = () => {
    if (ending.aborted) throw new Error("its tenant is being deleted, or was");
  };
  mustBeThere();
  for await (const piece of pieces) {
    mustBeThere();
    yield piece;
    mustBeThere();
  }
  mustBeThere();
}
