import type { ErrorCode, Refusal } from "../../core/error.ts";
import { fail, type Result } from "../../core/result.ts";
import type { AgentListener } from "../agent.ts";
import { systemCodeOf } from "../system-error.ts";

/** Why an act of an agent fails: thrown inside this folder, and a refusal outside of it. */
export class WorkspaceError extends Error {
  readonly code: ErrorCode;
  readonly details: Refusal["details"];

  constructor(code: ErrorCode, details: Refusal["details"] = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

export function unavailable(reason: string): WorkspaceError {
  return new WorkspaceError("file_unavailable", { reason });
}

/** Runs an act on one path. A failure becomes a refusal with the path of the request. */
export async function answerFor<Value>(
  path: string,
  run: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
  try {
    return await run();
  } catch (thrown) {
    const { code, details } =
      thrown instanceof WorkspaceError ? thrown : unavailable(reasonOf(thrown));
    return fail(code, { path: shown(path), ...details });
  }
}

/** The act may happen only if this is true. */
export async function isRecorded(
  audit: AgentListener["audit"],
  ...[act, details]: Parameters<AgentListener["audit"]>
): Promise<boolean> {
  try {
    await audit(act, details);
    return true;
  } catch {
    return false;
  }
}

/** Why an act did not happen. The cause is not for the agent. */
export const NOT_RECORDED = "it could not be recorded beforehand, so it was not done";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission is denied",
  EISDIR: "it is a directory",
  ELOOP: "it leads through too many links, or became one just now",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "its name is too long",
  ENFILE: "too many files are open",
  ENOENT: "there is no such file or directory",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a directory",
  EPERM: "permission is denied",
  EROFS: "the file system is read-only",
};

/** What a system error means. Any other error is a bug, and is thrown again. */
export function reasonOf(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  if (code === null) throw thrown;
  return REASONS[code] ?? `the system says ${code}`;
}

/** A path may be as long as a line of the agent. */
function shown(path: string): string {
  return path.length > PATH_SHOWN_CHARS_MAX ? `${path.slice(0, PATH_SHOWN_CHARS_MAX)}…` : path;
}

const PATH_SHOWN_CHARS_MAX = 512;
