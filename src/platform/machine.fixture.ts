import { spawnSync } from "node:child_process";
import { it } from "vitest";

/** Watches system calls: a tool of the system, not of a package. */
export const TRACER = "strace";

/** Why system calls cannot be watched here; null if they can. */
export function whyNoTrace(): string | null {
  const tried = spawnSync(TRACER, ["-f", "-qq", "-o", "/dev/null", "true"]);
  if (tried.error) return `${TRACER} cannot be started: ${tried.error.message}`;
  return tried.status === 0 ? null : `${TRACER} is not allowed here: ${tried.stderr}`;
}

type TestBody = () => Promise<void> | void;

/**
 * A test that needs something of its machine. Where that is `missing`, the test is skipped and
 * counted as such; in CI, where the machine is ours to set up, it fails.
 */
export function itWhere(
  missing: string | null,
  title: string,
  body: TestBody,
  timeoutMs?: number,
  isRequired = Boolean(process.env.CI) && process.platform === "linux",
) {
  if (missing === null) return it(title, body, timeoutMs);
  return it(title, (context) => {
    if (isRequired) throw new Error(`CI must be able to run this test: ${missing}`);
    context.skip(missing);
  });
}
