import { ERRORS, errorBody, type Refusal, refusal } from "../../core/error.ts";
import { RETRY_AFTER_MS } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { EventSource } from "./event-stream.ts";

export type AnswerHeaders = Readonly<Record<string, string>>;

/** Called once: when the answer has left, or when it is certain that it never will. */
type Afterwards = (fate: "delivered" | "lost") => void;

interface AnswerBase {
  readonly headers?: AnswerHeaders;
  readonly afterwards?: Afterwards;
}

/** What a route answers. Nobody but `delivery.ts` writes to a socket. */
export type Answer =
  | (AnswerBase & { readonly kind: "json"; readonly status: number; readonly text: string })
  | (AnswerBase & { readonly kind: "empty" })
  | (AnswerBase & {
      readonly kind: "file";
      readonly mediaType: string;
      /** If it throws, the connection is cut, so that nobody takes the part for the whole. */
      readonly pieces: AsyncIterable<string | Uint8Array>;
      /** Of one that goes on as long as its reader likes: ends it, if that may read no more. */
      readonly end?: () => void;
    })
  | (AnswerBase & {
      readonly kind: "events";
      readonly source: EventSource;
      /** The identity of the log; null where frames have no ids. */
      readonly epoch: string | null;
    });

export function json(status: number, body: object, headers: AnswerHeaders = {}): Answer {
  return { kind: "json", status, text: JSON.stringify(body), headers };
}

/** 204: it is done, and there is nothing to say. */
export function empty(headers: AnswerHeaders = {}): Answer {
  return { kind: "empty", headers };
}

/** 200, in pieces. */
export function file(
  mediaType: string,
  pieces: AsyncIterable<string | Uint8Array>,
  headers: AnswerHeaders = {},
): Answer {
  return { kind: "file", mediaType, pieces, headers };
}

/** 200, and then frames until either side ends it. */
export function events(source: EventSource, epoch: string | null): Answer {
  return { kind: "events", source, epoch };
}

/** The status and body that the table of errors has for it, and when to try again. */
export function refused(why: Refusal, headers: AnswerHeaders = {}): Answer {
  const { status, retry } = ERRORS[why.code];
  const later = retry === "later" ? { "Retry-After": retryAfterOf(why) } : {};
  return json(status, errorBody(why), { ...later, ...headers });
}

/** The answer to what came out of it, or the refusal. */
export function answerTo<Value>(result: Result<Value>, answerOf: (value: Value) => Answer): Answer {
  return result.ok ? answerOf(result.value) : refused(result.refusal);
}

/** One body for every reason, so that nobody learns which of them it was (wire, 1.3). */
export const UNAUTHORIZED = refused(refusal("unauthorized"));

/** What we did not foresee is in our log, and no business of the caller's. */
export const INTERNAL_ERROR = refused(refusal("internal_error"));

function retryAfterOf({ details }: Refusal): string {
  const { retryAfterMs, retryMs } = details;
  const ms = [retryAfterMs, retryMs].find((value) => typeof value === "number");
  return `${Math.max(1, Math.ceil((ms ?? RETRY_AFTER_MS) / 1_000))}`;
}
