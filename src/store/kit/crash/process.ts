import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Line, readLine } from "./step.ts";
import type { CrashSubject } from "./subject.ts";
import type { Orders } from "./workload.ts";

/** A child process with a store in it, and all that it has said so far. */
export class StoreProcess {
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #watchers = new Set<() => void>();
  #errors = "";

  constructor(
    subject: Pick<CrashSubject, "script" | "factory">,
    orders: Omit<Orders, "factory">,
    failpoint = "",
  ) {
    const told: Orders = { ...orders, factory: subject.factory };
    const script = subject.script.pathname;
    this.#child = spawn(process.execPath, [script, JSON.stringify(told)], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "", FERMATA_FAILPOINT: failpoint },
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) assert.fail("the child has no pipes");
    stderr.on("data", (text) => {
      this.#errors += text;
    });
    const reader = createInterface({ input: stdout });
    reader.on("line", (text) => this.#hear(text));
    // Only when the pipe has been read to its end is everything known that was said.
    this.#ended = Promise.all([once(this.#child, "close"), once(reader, "close")]).then(() =>
      this.#wake(),
    );
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get wasKilled(): boolean {
    return this.#child.signalCode === "SIGKILL";
  }

  /** What went wrong in it, other than being killed; empty if nothing did. */
  get trouble(): string {
    const failed = this.lines.find(({ says }) => says === "failed");
    if (failed?.says === "failed") return failed.why;
    const isWell = !this.#isOver() || this.wasKilled || this.#child.exitCode === 0;
    return isWell ? "" : `it ended with ${this.#child.exitCode}: ${this.#errors}`;
  }

  /** Resolves when enough has been heard, or the process is gone. */
  async until(heard: (lines: readonly Line[]) => boolean): Promise<void> {
    while (!heard(this.lines) && !this.#isOver()) {
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  async has(fact: string): Promise<void> {
    await this.until((lines) => lines.some((line) => line.says === "has" && line.fact === fact));
    assert.equal(this.trouble, "");
  }

  async answers(count: number): Promise<readonly Extract<Line, { says: "answered" }>[]> {
    await this.until((lines) => answered(lines).length >= count);
    assert.equal(this.trouble, "");
    return answered(this.lines);
  }

  tell() {
    this.#child.stdin?.write("\n");
  }

  signal(signal: NodeJS.Signals) {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
  }

  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }

  ended(): Promise<void> {
    return this.#ended;
  }

  #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #hear(text: string) {
    try {
      this.lines.push(readLine(text));
    } catch {
      // The line in which it was killed: what was not said whole was not said.
    }
    this.#wake();
  }

  #wake() {
    const waiting = [...this.#watchers];
    this.#watchers.clear();
    for (const wake of waiting) wake();
  }
}

function answered(lines: readonly Line[]) {
  return lines.filter((line) => line.says === "answered");
}
