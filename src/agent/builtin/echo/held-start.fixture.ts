import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An echo that is started and reads nothing yet: a test looks at what is so, and lets it begin. */
export class HeldStart {
  readonly #folder = mkdtempSync(join(tmpdir(), "fermata-held-"));
  readonly #file = join(this.#folder, "begin");
  readonly flags: readonly string[] = ["--start-when", this.#file];

  constructor() {
    onTestFinished(() => rmSync(this.#folder, { recursive: true }));
  }

  begin() {
    writeFileSync(this.#file, "");
  }
}
