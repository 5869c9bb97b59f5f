import { syncBuiltinESMExports } from "node:module";
import workerThreads, { Worker } from "node:worker_threads";
import type { SessionStore } from "../store.ts";

/**
 * A process in which the thread that writes is ended again and again, in the middle of its work.
 * It is told where its store is, and says what was answered and what was found afterwards.
 */
const ROUNDS = 5;
const COMMITS = 3_000;
const DELAY_MS = 3;

const writers: Worker[] = [];

/** All threads that are started from here on are known, so that one can be ended. */
class WatchedWorker extends Worker {
  constructor(...args: ConstructorParameters<typeof Worker>) {
    super(...args);
    if (String(args[0]).includes("writer")) writers.push(this);
  }
}
Object.assign(workerThreads, { Worker: WatchedWorker });
syncBuiltinESMExports();

const { commitOf, HOST, keyOf, manifest, newSession } = await import("../sample.fixture.ts");
const { sqliteStore } = await import("./store.ts");

const [path] = process.argv.slice(2);
const key = keyOf("s1");
const created = newSession("s1", { manifest: manifest({ storeId: "sqlite" }) });
const store = sqliteStore();
await store.init(HOST, { active: true, path });
await store.activate();
await store.create(key, created);
const rounds: unknown[] = [];
for (let round = 0; round < ROUNDS; round += 1)
  rounds.push(await endedAmid(store, round * DELAY_MS));
await store.dispose();
process.stdout.write(JSON.stringify(rounds));

/** Ends the writer while it has many commits, and looks what became of them. */
async function endedAmid(from: SessionStore, delayMs: number) {
  const opened = await from.open(key, created.holder, []);
  if (!opened.ok) return opened.refusal;
  const { term, record } = opened.value;
  const commits = Array.from({ length: COMMITS }, (_, n) => {
    const change = { afterEventId: record.lastEventId + n, events: ["x".repeat(500)] };
    return from.commit(key, term, commitOf(change));
  });
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  await writers.at(-1)?.terminate();
  const answers = await Promise.all(commits);
  const acknowledged = answers.filter(({ ok }) => ok).length;
  const again = await from.open(key, created.holder, []);
  const stored = again.ok ? again.value.record.lastEventId - record.lastEventId : null;
  const codes = answers.flatMap((answer) => (answer.ok ? [] : [answer.refusal.code]));
  return { acknowledged, stored, codes: [...new Set(codes)], threads: writers.length };
}
