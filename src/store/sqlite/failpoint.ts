/**
 * Points at which a test may have this process killed, to see what a crash there leaves behind.
 * `FERMATA_FAILPOINT=name` kills it at the first passing, `name:3` at the third. It is
 * decided once, when this file is loaded: without the variable a passing is an empty call.
 */
export const failpoint: (name: string) => void = armed(process.env.FERMATA_FAILPOINT ?? "");

function armed(setting: string): (name: string) => void {
  if (setting === "") return () => {};
  const [wanted, count = "1"] = setting.split(":");
  let left = Number(count);
  return (name) => {
    if (name !== wanted) return;
    left -= 1;
    // Nothing may run after this, not even an exit handler: that is what a crash is.
    if (left === 0) process.kill(process.pid, "SIGKILL");
  };
}

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
