/** The code of a system error, such as ENOENT; null for any other error. */
export function systemCodeOf(thrown: unknown): string | null {
  const isSystems = thrown instanceof Error && "errno" in thrown && "code" in thrown;
  return isSystems && typeof thrown.code === "string" ? thrown.code : null;
}

/** The code of an error, or else its text. */
export function causeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
}
