/** The system's code of a failure, such as `ENOENT`. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "an unknown error";
}

export function isNothingThere(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Words a system error without its own message, which would name the path. */
export function reasonOf(thrown: unknown): string {
  const code = codeOf(thrown);
  return REASONS[code] ?? `the system says ${code}`;
}

/** What is said when the process, or the machine, has no file handle left. */
export const FILES_EXHAUSTED = "too many files are open";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  ELOOP: "its links lead in a circle",
  EMFILE: FILES_EXHAUSTED,
  ENFILE: FILES_EXHAUSTED,
  ENAMETOOLONG: "its path is too long",
  ENOENT: "it is not there",
  ENOTDIR: "it is not a directory",
};
