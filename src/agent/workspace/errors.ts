import type { ErrorCode, Refusal } from "../../core/error.ts";
import { fail, type Result } from "../../core/result.ts";
import type { AgentListener } from "../agent.ts";
import { systemCodeOf } from "../system-error.ts";

/** Why an act of an agent cannot be: thrown inside this folder, a refusal at its doors. */
export class Trouble extends Error {
  readonly code: ErrorCode;
  readonly details: Refusal["details"];

  constructor(code: ErrorCode, details: Refusal["details"] = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }

  static unavailable(reason: string): Trouble {
    return new Trouble("file_unavailable", { reason });
  }
}

/** Runs what concerns one path. What goes wrong is answered with the path as it was given. */
export async function answer<Value>(
  path: string,
  run: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
  try {
    return await run();
  } catch (thrown) {
    const { code, details } = thrown instanceof Trouble ? thrown : systemTrouble(thrown);
    return fail(code, { path: shown(path), ...details });
  }
}

/** The act that is recorded here happens only if this answers. */
export async function recorded(
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

/** Why an act that could not be recorded did not happen; the cause is no business of the agent. */
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

/** What the system's error means. Anything else is a mistake of ours and thrown on. */
export function reasonOf(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  if (code === null) throw thrown;
  return REASONS[code] ?? `the system says ${code}`;
}

function systemTrouble(thrown: unknown): Trouble {
  return Trouble.unavailable(reasonOf(thrown));
}

/** A path may be as long as a line of the agent; nobody has to read all of that. */
function shown(path: string): string {
  return path.length > PATH_SHOWN_CHARS_MAX ? `${path.slice(0, PATH_SHOWN_CHARS_MAX)}…` : path;
}

const PATH_SHOWN_CHARS_MAX = 512;
