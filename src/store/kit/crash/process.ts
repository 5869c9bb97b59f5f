import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../../core/json.ts";
import { thisHolder } from "../../holder.ts";
import type * as S from "../../store.ts";
import type { SessionStore } from "../../store.ts";
import { value } from "../expect.ts";
import * as sample from "../sample.ts";
import {
  type ChildRequest,
  type Line,
  perform,
  readLine,
  type StoreStep,
  started,
  work,
  writeLine,
} from "./workload.ts";

/** A child process with a store in it, and all that it has said so far. */
export class StoreProcess {
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #watchers = new Set<() => void>();
  #errors = "";

  constructor(
    subject: Pick<CrashSubject, "script" | "factory">,
    orders: Omit<ChildRequest, "factory">,
    failpoint = "",
  ) {
    const told: ChildRequest = { ...orders, factory: subject.factory };
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
    if (this.#child.pid !== undefined) this.#child.kill(signal);
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

/** The session that the checks of ownership are about. */
export const HELD = sample.keyOf("held");

/**
 * The whole of a script that the crash runner starts as a process of its own. It is told which of
 * these factories to use, and what to do, by its last argument.
 */
export async function playChild(factories: Readonly<Record<string, () => S.SessionStore>>) {
  const orders: ChildRequest = JSON.parse(process.argv.at(-1) ?? "");
  const make = factories[orders.factory];
  try {
    if (make === undefined) throw new Error(`there is no factory ${orders.factory}`);
    await TASKS[orders.task](make, orders);
  } catch (thrown) {
    say({ says: "failed", why: thrown instanceof Error ? `${thrown.stack}` : `${thrown}` });
    process.exit(1);
  }
}

type Task = (make: () => S.SessionStore, orders: ChildRequest) => Promise<void>;

const TASKS: Readonly<Record<ChildRequest["task"], Task>> = {
  work: (make, orders) => work(make, orders, say),
  hold,
  open: tryToOpen,
};

/**
 * Written at once and whole: what a killed process has said can still be read. While the pipe is
 * full this thread waits, and the store's goes on.
 */
function say(line: Line) {
  let rest = Buffer.from(writeLine(line));
  while (rest.length > 0) rest = rest.subarray(written(rest));
}

function written(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (thrown) {
    const isFull = thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN";
    if (!isFull) throw thrown;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS);
    return 0;
  }
}

const FULL_PIPE_MS = 1;

/**
 * Makes the session if need be, owns it, and writes to it each time a line comes in. It lives for
 * as long as its parent can write to it.
 */
async function hold(make: () => S.SessionStore, { config, life }: ChildRequest) {
  const store = await started(make(), config);
  const holder = thisHolder(life);
  const manifest = sample.manifest(HELD, store.contract.storeId);
  const made = await store.create(HELD, sample.newSession(manifest, { holder }));
  const { term } = made.ok ? made.value : await value(store.open(HELD, holder, []));
  say({ says: "has", fact: "held" });
  for await (const _ of process.stdin) {
    const { lastEventId } = await value(store.readRecord(HELD));
    const events = sample.events(lastEventId + 1, 1);
    await told(store, { op: "commit", key: HELD, term, commit: sample.commit({ events }) });
  }
  await store.dispose();
}

/** Tries once, and then keeps what it got until it is ended. */
async function tryToOpen(make: () => S.SessionStore, { config, life }: ChildRequest) {
  const store = await started(make(), config);
  await told(store, { op: "open", key: HELD, holder: thisHolder(life), audit: [] });
  for await (const _ of process.stdin);
  await store.dispose();
}

async function told(store: S.SessionStore, step: StoreStep) {
  say({ says: "calls", n: 0, step, refused: null });
  say({ says: "answered", n: 0, answer: await perform(store, step) });
}

/** A store, and how to have it in a process of its own. */
export interface CrashSubject {
  /** A script that imports the store and hands it to `playChild`. */
  readonly script: URL;
  /** Under which name it does so. */
  readonly factory: string;
  /** The same store, in this process: what the other one has left is looked at with it. */
  store(): SessionStore;
  /** An empty place, and the end of it. */
  makePlace(): Promise<string>;
  clearPlace(place: string): Promise<void>;
  /** A configuration that makes the store the active one over this place. */
  config(place: string): JsonObject;
  /** Every step of a write at which the store's code calls `failpoint`. */
  readonly failpoints: readonly string[];
}
