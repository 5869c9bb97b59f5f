import type { Worker } from "node:worker_threads";
import { STORE_READ_ALONE_MS_MAX } from "../../core/limits.ts";
import { commitOf, HOST, keyOf, manifest, newSession } from "../sample.fixture.ts";
import { sqliteStore } from "./store.ts";

/**
 * A process whose store is used by one caller first, and then by many at once, and that has a
 * second store with a long event in it. It is told where its store is, and says which threads there
 * were in the meantime, and what was answered.
 */
const ONE_BY_ONE = 20;
/** To read an event of this size takes several times what a read may hold up the writer. */
const LONG_CHARS = 32e6;
const AT_ONCE = 200;

const threads: Worker[] = [];
process.on("worker", (worker) => threads.push(worker));

const [path] = process.argv.slice(2);
const key = keyOf("s1");
const created = newSession("s1", { manifest: manifest({ storeId: "sqlite" }) });
const store = sqliteStore();
await store.init(HOST, { active: true, path });
await store.activate();
const made = await store.create(key, created);
const term = made.ok ? made.value.term : 0;

for (let n = 0; n < ONE_BY_ONE; n += 1) await append(n);
let longestMs = 0;
for (let n = 1; n <= ONE_BY_ONE; n += 1) {
  const startedMs = performance.now();
  await found(n);
  longestMs = Math.max(longestMs, performance.now() - startedMs);
}
// On a busy machine one of them may have been held up so long that a thread was due.
const alone = longestMs <= STORE_READ_ALONE_MS_MAX ? threads.length : 1;

const reads: Promise<string>[] = [];
const writes: Promise<boolean>[] = [];
for (let n = ONE_BY_ONE; n < ONE_BY_ONE + AT_ONCE; n += 1) {
  writes.push(append(n));
  reads.push(found(ONE_BY_ONE));
}
const written = (await Promise.all(writes)).filter((isWritten) => isWritten).length;
const read = [...new Set(await Promise.all(reads))];
const together = threads.length;

// Reads go on if the second thread ends, and the first one goes on with all that it does.
await threads.at(-1)?.terminate();
const last = await found(ONE_BY_ONE + AT_ONCE);
await store.dispose();
const slowly = await threadsOfSlowReads();
process.stdout.write(JSON.stringify({ alone, together, written, read, last, slowly }));

/** How many threads a store has after each of three reads, one by one, that take long. */
async function threadsOfSlowReads(): Promise<readonly number[]> {
  const others = threads.length;
  const slow = sqliteStore();
  await slow.init(HOST, { active: true, path: `${path}-slow` });
  await slow.activate();
  const made = await slow.create(key, created);
  const events = [JSON.stringify({ text: "x".repeat(LONG_CHARS) })];
  await slow.commit(key, made.ok ? made.value.term : 0, commitOf({ events }));
  const counts: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    await slow.readEvents(key, { after: 0, limit: 1 });
    counts.push(threads.length - others);
  }
  await slow.dispose();
  return counts;
}

async function append(afterEventId: number): Promise<boolean> {
  const change = { afterEventId, events: [JSON.stringify({ n: afterEventId + 1 })] };
  return (await store.commit(key, term, commitOf(change))).ok;
}

/** The text of the event of that number. */
async function found(n: number): Promise<string> {
  const page = await store.readEvents(key, { after: n - 1, limit: 1 });
  return page.ok ? (page.value.events[0]?.text ?? "none") : page.refusal.code;
}
