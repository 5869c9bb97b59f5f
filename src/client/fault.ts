import type { ErrorCode } from "../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../core/json.ts";

/**
 * What can go wrong without a refusal of the server: it was not reached for as long as the client
 * had patience, or what answered is no Fermata server that this client understands.
 */
export type ClientFault = "unreachable" | "answer_unreadable";

/** One class for all that fails. `code` is a row of docs/errors.md, or a fault of the client. */
export class FermataError extends Error {
  override readonly name = "FermataError";
  readonly code: ErrorCode | ClientFault;
  /** Of the answer; null if there was none. */
  readonly status: number | null;
  /** The facts of the case, as the answer has them. */
  readonly details: JsonObject;
  /** When the server says that another attempt may succeed; null if it does not say so. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode | ClientFault,
    message: string,
    about: Partial<Pick<FermataError, "status" | "details" | "retryAfterMs" | "cause">> = {},
  ) {
    super(message, { cause: about.cause });
    this.code = code;
    this.status = about.status ?? null;
    this.details = about.details ?? {};
    this.retryAfterMs = about.retryAfterMs ?? null;
  }
}

/** Whether a failed call can be sent again as it is: the server, or the way to it, is away. */
export function isPassing(error: unknown): error is FermataError {
  if (!(error instanceof FermataError)) return false;
  return PASSING.has(error.code) || (error.code === "answer_unreadable" && isOfProxy(error.status));
}

/** The same for a stream, which has more time: also a limit that is reached may pass. */
export function mayComeBack(error: unknown): error is FermataError {
  return isPassing(error) || (error instanceof FermataError && error.retryAfterMs !== null);
}

const PASSING: ReadonlySet<string> = new Set<ErrorCode | ClientFault>([
  "unreachable",
  "server_starting",
  "server_stopping",
  "server_busy",
  "store_unavailable",
  "share_exceeded",
  "rate_limit_exceeded",
]);

/** A proxy answers so while the server behind it is away, with a page of its own. */
function isOfProxy(status: number | null): boolean {
  return status === 502 || status === 503 || status === 504;
}

/** The refusal in an answer. One without a code is of another program than Fermata. */
export function refusalIn(response: Response, body: unknown): FermataError {
  const { status } = response;
  const details = isObject(body) ? body : {};
  const code = stringAt(details, "code");
  const retryAfterMs = retryAfterOf(response);
  if (code === null) {
    const message = `The answer ${status} is not of a Fermata server.`;
    return new FermataError("answer_unreadable", message, { status, retryAfterMs });
  }
  const message = stringAt(details, "error") ?? code;
  return new FermataError(asErrorCode(code), message, { status, details, retryAfterMs });
}

/** A newer server may have codes that this client has not: they are passed on as they are. */
export function asErrorCode(code: string): ErrorCode {
  return code as ErrorCode;
}

function retryAfterOf({ headers }: Response): number | null {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
}
