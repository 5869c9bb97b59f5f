import { fail, type Result } from "../../core/result.ts";

/** What a thrown error of the disk or the database means, with something a person can act on. */
export function explain(thrown: unknown): Result<never> {
  const code = codeOf(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (isDamage(thrown)) return fail("session_corrupt", { reason });
  const advice = ADVICE.find(([pattern]) => pattern.test(code))?.[1];
  return fail("store_unavailable", { reason: advice ? `${reason} (${advice})` : reason });
}

/** The reason alone, for a caller that has a code of its own. */
export function reasonOf(thrown: unknown): string {
  const explained = explain(thrown);
  return explained.ok ? "" : String(explained.refusal.details.reason);
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/SQLITE_FULL|ENOSPC|EDQUOT/, "free some space on its disk"],
  [/SQLITE_READONLY|SQLITE_PERM|EACCES|EROFS|EPERM/, "make its directory writable"],
  [/SQLITE_CANTOPEN|ENOENT|ENOTDIR/, "its directory is missing or cannot be opened"],
  [/SQLITE_BUSY|SQLITE_LOCKED/, "another process is using its database"],
  [/SQLITE_IOERR|EIO/, "its disk reports errors"],
];

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error) || !("code" in thrown)) return "";
  return typeof thrown.code === "string" ? thrown.code : "";
}

/** Whether SQLite has found the file itself to be damaged. */
export function isDamage(thrown: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(codeOf(thrown));
}

/** Not one commit's fault: the disk, the directory or another process is in the way of all. */
export function isOfTheWorld(thrown: unknown): boolean {
  return ADVICE.some(([pattern]) => pattern.test(codeOf(thrown)));
}
