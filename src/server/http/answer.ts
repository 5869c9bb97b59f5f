import { ERRORS, errorBody, type Refusal, refusal } from "../../core/error.ts";
import { RETRY_AFTER_MS } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { EventSource } from "./event-stream.ts";

/** In the header `Server` of every answer: so a second server can say who has its port. */
export const SERVER_NAME = "fermata";

export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * What became of an answer: its client has read it, it was sent, or it certainly reaches no one.
 * Only an answer that wants to be acknowledged is ever known to have been read.
 */
export type AnswerFate = "acknowledged" | "delivered" | "lost";

/** Called once. */
type Afterwards = (fate: AnswerFate) => void;

interface AnswerBase {
  readonly headers?: AnswerHeaders;
  readonly afterwards?: Afterwards;
  /** The client is to end the connection once it has read the answer, where that tells anything. */
  readonly wantsAcknowledgement?: boolean;
}

/** The answer of a route. Only `delivery.ts` writes to sockets. */
export type Answer = ReadyAnswer | WaitingAnswer;

/** An answer that comes later. It holds a share of the event streams, and nothing else. */
export interface WaitingAnswer extends AnswerBase {
  readonly kind: "waiting";
  /** Answers with what is known by then when the signal ends the wait. */
  readonly settle: (ending: AbortSignal) => Promise<ReadyAnswer>;
}

/** An answer that can be sent. */
export type ReadyAnswer =
  | (AnswerBase & { readonly kind: "json"; readonly status: number; readonly text: string })
  /** JSON in pieces. */
  | (AnswerBase & {
      readonly kind: "pieces";
      readonly status: number;
      readonly texts: readonly string[];
    })
  /** A page for people, in a browser. */
  | (AnswerBase & { readonly kind: "html"; readonly status: number; readonly text: string })
  /** 204, unless the client is told that it has the file already. */
  | (AnswerBase & { readonly kind: "empty"; readonly status?: 304 })
  | (AnswerBase & {
      readonly kind: "file";
      readonly mediaType: string;
      /** If it throws, the connection is closed, so that no client takes a part for the whole. */
      readonly pieces: AsyncIterable<string | Uint8Array>;
      /** Ends an endless file whose reader may read no more; without it the file breaks off. */
      readonly end?: () => void;
    })
  | (AnswerBase & {
      readonly kind: "events";
      readonly source: EventSource;
      /** The epoch of the event log; null for frames without ids. */
      readonly epoch: string | null;
    });

/** An answer whose text is all there. */
export type WholeText = Extract<ReadyAnswer, { readonly kind: "json" | "html" }>;

export function json(status: number, body: object, headers: AnswerHeaders = {}): ReadyAnswer {
  return { kind: "json", status, text: JSON.stringify(body), headers };
}

/** Fields that are JSON already, each in pieces. */
export type WrittenFields = Readonly<Record<string, readonly string[]>>;

/** A body that has fields, and such ones: what is large is neither parsed nor put together. */
export function jsonWith(status: number, body: object, written: WrittenFields): Answer {
  const fields = Object.entries(written).flatMap(([name, pieces]) => {
    return [`${JSON.stringify(name)}:`, ...pieces, ","];
  });
  return { kind: "pieces", status, texts: ["{", ...fields, JSON.stringify(body).slice(1)] };
}

/** The text of an object, or its end, with one more field. */
function withField(object: string, field: string): string {
  return `${object.slice(0, -1)}${object === "{}" ? "" : ","}${field}}`;
}

/** 204. */
export function empty(headers: AnswerHeaders = {}): Answer {
  return { kind: "empty", headers };
}

export function html(status: number, text: string, headers: AnswerHeaders): WholeText {
  return { kind: "html", status, text, headers };
}

/** The client has this version of the file already. */
export function notModified(headers: AnswerHeaders): Answer {
  return { kind: "empty", status: 304, headers };
}

/** 200, streamed in pieces. */
export function file(
  mediaType: string,
  pieces: AsyncIterable<string | Uint8Array>,
  headers: AnswerHeaders = {},
): Answer {
  return { kind: "file", mediaType, pieces, headers };
}

/** 200, followed by frames until either side ends the stream. */
export function events(source: EventSource, epoch: string | null): Answer {
  return { kind: "events", source, epoch };
}

/** Says that a token is wanted, as every 401 has to. */
const CHALLENGE = 'Bearer realm="fermata"';

/** Status and body from the error table, with `Retry-After` where a retry can help. */
export function refused(why: Refusal, headers: AnswerHeaders = {}): ReadyAnswer {
  const { status, retry } = ERRORS[why.code];
  const later = retry === "later" ? { "Retry-After": retryAfterOf(why) } : {};
  const challenge = status === 401 ? { "WWW-Authenticate": CHALLENGE } : {};
  return json(status, errorBody(why), { ...later, ...challenge, ...headers });
}

/** The same answer, with the names of fields that were not used, if there are any. */
export function naming(answer: Answer, ignored: readonly string[]): Answer {
  if (ignored.length === 0) return answer;
  const names = `"ignored":${JSON.stringify(ignored)}`;
  if (answer.kind === "pieces") {
    const texts = [...answer.texts];
    const end = texts.pop() ?? "{}";
    return { ...answer, texts: [...texts, withField(end, names)] };
  }
  if (answer.kind !== "json" || answer.status >= 400) return answer;
  return { ...answer, text: withField(answer.text, names) };
}

/** Answers with the value, or with the refusal. */
export function answerTo<Value, Made extends Answer>(
  result: Result<Value>,
  answerOf: (value: Value) => Made,
): Made | ReadyAnswer {
  return result.ok ? answerOf(result.value) : refused(result.refusal);
}

/** The same body for every reason, so that it does not reveal the reason. */
const UNAUTHORIZED = refused(refusal("unauthorized"));

const INVALID_TOKEN = refused(refusal("unauthorized"), {
  "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"`,
});

/** Says only what the caller knows: whether a token came with the request. */
export function unauthorized(token: string | null): ReadyAnswer {
  return token === null ? UNAUTHORIZED : INVALID_TOKEN;
}

/** The log has the cause; the client does not see it. */
export const INTERNAL_ERROR = refused(refusal("internal_error"));

function retryAfterOf({ details }: Refusal): string {
  const { retryAfterMs, retryMs } = details;
  const ms = [retryAfterMs, retryMs].find((value) => typeof value === "number");
  return `${Math.max(1, Math.ceil((ms ?? RETRY_AFTER_MS) / 1_000))}`;
}
