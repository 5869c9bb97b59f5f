/** The system's name for what went wrong, such as ENOENT; null if it was not the system. */
export function systemCodeOf(thrown: unknown): string | null {
  const isSystems = thrown instanceof Error && "errno" in thrown && "code" in thrown;
  return isSystems && typeof thrown.code === "string" ? thrown.code : null;
}

/** A short name for whatever went wrong: a code where it has one, else its own words. */
export function causeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
}
