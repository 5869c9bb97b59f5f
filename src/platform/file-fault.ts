/** Why a file that an operator has named cannot be read: a clause that says what to do. */
export function fileFault(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return FILE_FAULTS[code] ?? (thrown instanceof Error ? thrown.message : String(thrown));
}

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file; check its path, or make it",
  ENOTDIR: "a part of its path is a file; check its path",
  EISDIR: "it is a directory; name a file in it",
  EACCES: "permission is denied; let the user of the server read it",
  EPERM: "permission is denied; let the user of the server read it",
  ELOOP: "its links lead in a circle; check its path",
  ENAMETOOLONG: "its name is too long",
  EROFS: "its disk is read-only; choose another directory, or mount it writable",
};
