import { refusal } from "../../core/error.ts";
import { type Answer, type AnswerHeaders, empty, refused } from "../answer.ts";
import type { OwnNames } from "./own-names.ts";

/** The part of a request that browsers fill in. */
export interface CrossOrigin {
  readonly method: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** Whether it has any header that only a preflight has. */
  readonly isPreflight: boolean;
}

/** Headers for whatever is answered, and the answer itself if this is where it ends. */
export interface CorsJudgement {
  readonly headers: AnswerHeaders;
  readonly answer: Answer | null;
}

const VARY = { Vary: "Origin" };

/** What every allowed page gets to know; credentials are never among it (wire, 1.4). */
const ALLOWED = {
  ...VARY,
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, X-Qwen-Client-Id, Last-Event-ID, X-Qwen-Event-Epoch, " +
    "Idempotency-Key, X-Request-Id",
  "Access-Control-Max-Age": "86400",
  "Access-Control-Expose-Headers":
    "Retry-After, X-Qwen-Event-Epoch, X-Qwen-SSE-Stream-Id, X-Request-Id",
};

/** Keeps web pages out that the operator has not let in: their users' browsers send them here. */
export class CorsGate {
  readonly #allowed: ReadonlySet<string>;

  constructor(allowOrigins: readonly string[]) {
    this.#allowed = new Set(allowOrigins.map((origin) => origin.toLowerCase()));
  }

  judge({ method, origin, host, isPreflight }: CrossOrigin, own: OwnNames): CorsJudgement {
    if (origin === undefined || own.hasOrigin(origin, host)) return { headers: {}, answer: null };
    if (!this.#allows(origin)) return { headers: VARY, answer: refused(refusal("cors_denied")) };
    const headers = { ...ALLOWED, "Access-Control-Allow-Origin": origin };
    return { headers, answer: method === "OPTIONS" && isPreflight ? empty() : null };
  }

  /** `null` is what a sandboxed page says, and any page can make one of those. */
  #allows(origin: string): boolean {
    if (origin === "null") return false;
    return this.#allowed.has("*") || this.#allowed.has(origin.toLowerCase());
  }
}
