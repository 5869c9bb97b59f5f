import { writeSync } from "node:fs";
import { thisHolder } from "../../holder.ts";
import type * as S from "../../store.ts";
import { value } from "../expect.ts";
import * as sample from "../sample.ts";
import { type Line, perform, type Step, writeLine } from "./step.ts";
import { type Orders, started, work } from "./workload.ts";

/** The session that the checks of ownership are about. */
export const HELD = sample.keyOf("held");

/**
 * The whole of a script that the crash runner starts as a process of its own. It is told which of
 * these factories to use, and what to do, by its last argument.
 */
export async function playChild(factories: Readonly<Record<string, () => S.SessionStore>>) {
  const orders: Orders = JSON.parse(process.argv.at(-1) ?? "");
  const make = factories[orders.factory];
  try {
    if (make === undefined) throw new Error(`there is no factory ${orders.factory}`);
    await TASKS[orders.task](make, orders);
  } catch (thrown) {
    say({ says: "failed", why: thrown instanceof Error ? `${thrown.stack}` : `${thrown}` });
    process.exit(1);
  }
}

type Task = (make: () => S.SessionStore, orders: Orders) => Promise<void>;

const TASKS: Readonly<Record<Orders["task"], Task>> = {
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
 * as long as somebody could tell it something.
 */
async function hold(make: () => S.SessionStore, { config, life }: Orders) {
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
async function tryToOpen(make: () => S.SessionStore, { config, life }: Orders) {
  const store = await started(make(), config);
  await told(store, { op: "open", key: HELD, holder: thisHolder(life), audit: [] });
  for await (const _ of process.stdin);
  await store.dispose();
}

async function told(store: S.SessionStore, step: Step) {
  say({ says: "calls", n: 0, step, refused: null });
  say({ says: "answered", n: 0, answer: await perform(store, step) });
}
