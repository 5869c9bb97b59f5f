import { type ClientFault, FermataError } from "../../client/index.ts";
import type { ErrorCode } from "../../core/error.ts";
import type { TurnErrorCode } from "../../core/turn-error.ts";
import { CommandFailure } from "../failure.ts";
import { messageOf } from "../home.ts";
import { EXIT, type ExitCode } from "../table/exit-codes.ts";

/** The exit code and the sentence of anything that ended a command. */
export function failureOf(thrown: unknown): CommandFailure {
  if (thrown instanceof CommandFailure) return thrown;
  if (!(thrown instanceof FermataError)) return new CommandFailure(EXIT.failed, messageOf(thrown));
  const { cause } = thrown;
  const why = cause instanceof Error ? ` (${deepest(cause)})` : "";
  return new CommandFailure(codeOf(thrown), `${thrown.message}${why}`);
}

/** `fetch` hides the reason behind a general one. */
function deepest(error: Error): string {
  return error.cause instanceof Error ? deepest(error.cause) : error.message || error.name;
}

/** The exit code of a verdict or of a refusal with this code. */
export function exitCodeOf(code: string): ExitCode {
  return CODES.get(code) ?? EXIT.failed;
}

function codeOf({ code, status }: FermataError): ExitCode {
  if (status === 402) return EXIT.budget;
  return exitCodeOf(code);
}

type KnownCode = ErrorCode | TurnErrorCode | ClientFault;

const CODES: ReadonlyMap<string, ExitCode> = new Map<KnownCode, ExitCode>([
  ["unreachable", EXIT.unreachable],
  ["answer_unreadable", EXIT.unreachable],
  ["server_starting", EXIT.unreachable],
  ["server_stopping", EXIT.unreachable],
  ["unauthorized", EXIT.unauthorized],
  ["role_required", EXIT.unauthorized],
  ["session_not_found", EXIT.notFound],
  ["ask_not_found", EXIT.notFound],
  ["prompt_not_found", EXIT.notFound],
  ["budget_exhausted", EXIT.budget],
  ["prompt_deadline_exceeded", EXIT.timeout],
]);
