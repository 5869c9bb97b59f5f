import { failpoint } from "../failpoint.ts";

/** Every step of a write, in order. The crash runner has the process killed at each of them. */
export const SQLITE_FAILPOINTS = [
  "sqlite-before-naming",
  "sqlite-before-transaction",
  "sqlite-after-session",
  "sqlite-after-events",
  "sqlite-after-journal",
  "sqlite-after-slots",
  "sqlite-after-messages",
  "sqlite-after-turn",
  "sqlite-after-trim",
  "sqlite-amid-cut",
  "sqlite-amid-removal",
  "sqlite-amid-document",
  "sqlite-before-flush",
  "sqlite-amid-flush",
  "sqlite-before-commit",
  "sqlite-after-commit",
  "sqlite-before-tenant-removal",
  "sqlite-amid-tenant-removal",
  "sqlite-after-tenant-removal",
] as const;

export function step(name: (typeof SQLITE_FAILPOINTS)[number]) {
  failpoint(name);
}
