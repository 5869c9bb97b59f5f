import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Where a restore prepares everything, beside the place that it will have. */
export function makeStage(root: string): string {
  const stage = join(root, `${STAGE}${randomUUID()}`);
  mkdirSync(join(stage, "tenants"), { recursive: true, mode: 0o700 });
  return stage;
}

/**
 * Clears what a restore left behind that was killed: all conversations of its backup are in it.
 * For whoever knows that nobody else is at work here.
 */
export function clearStages(root: string) {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(STAGE)) continue;
    try {
      rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // What another user has left is in nobody's way.
    }
  }
}

const STAGE = "restoring-";
