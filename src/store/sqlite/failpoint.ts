import { failpoint } from "../failpoint.ts";

/** Every step of a write, in order. The crash runner has the process killed at each of them. */
export const SQLITE_FAILPOINTS = [
  "sqlite-before-naming",
  "sqlite-before-transaction",
  "sqlite-after-session",
  "sqlite-after-events",
  "sqlite-after-search",
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

/** The steps of a branch and of an index that is built; tests of those kill it there. */
const OTHER_FAILPOINTS = ["sqlite-amid-copy", "sqlite-amid-index"] as const;

type Failpoint = (typeof SQLITE_FAILPOINTS | typeof OTHER_FAILPOINTS)[number];

export function step(name: Failpoint) {
  failpoint(name);
}
