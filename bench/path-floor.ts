import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RelayReport } from "./path-report.ts";
import { rawDatabase } from "./raw-database.ts";
import { Latencies } from "./trial.ts";
import { post, StreamReader } from "./wire-client.ts";
import { ServerProcess, STREAMING_AGENT } from "./wire-process.ts";

const RELAY = fileURLToPath(new URL("least-relay.ts", import.meta.url));

const END = "stopReason";

/**
 * How long the agent alone takes for a turn, with a reader of its pipe that does nothing: no server
 * can have the turn sooner.
 */
export async function agentAlone(
  prompt: string,
  { warmUps, turns }: { readonly warmUps: number; readonly turns: number },
): Promise<Latencies> {
  const agent = spawn(process.execPath, [STREAMING_AGENT], { stdio: ["pipe", "pipe", "ignore"] });
  const latencies = new Latencies("the agent alone, without a server");
  const turn = async (id: number) => {
    const params = { sessionId: "alone", prompt: [{ type: "text", text: prompt }] };
    agent.stdin.write(`${JSON.stringify({ id, method: "session/prompt", params })}\n`);
    let tail: Buffer = Buffer.alloc(0);
    for await (const piece of agent.stdout.iterator({ destroyOnReturn: false })) {
      // The end of a turn may come in two pieces.
      const bytes: Buffer = Buffer.concat([tail, piece]);
      if (bytes.includes(END)) return;
      tail = bytes.subarray(-END.length);
    }
  };
  for (let n = 0; n < warmUps; n += 1) await turn(n);
  for (let n = 0; n < turns; n += 1) await latencies.of(() => turn(warmUps + n));
  const gone = once(agent, "exit");
  agent.kill();
  await gone;
  return latencies;
}

export interface RelayFloor {
  readonly turns: Latencies;
  /** CPU time per chunk. */
  readonly usOfMain: number;
  readonly usOfProcess: number;
}

/** How long the least relay takes for a turn to one stream: no server can do it with less. */
export async function relayAlone(
  prompt: string,
  {
    chunks,
    warmUps,
    turns,
  }: { readonly chunks: number; readonly warmUps: number; readonly turns: number },
): Promise<RelayFloor> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
  const relay = await ServerProcess.start([RELAY, folder]);
  const latencies = new Latencies("the least relay, to its stream");
  try {
    const reader = await StreamReader.open(relay.port, "/events");
    const turn = async () => {
      const received = reader.received("event: turn_complete");
      await post(relay.port, "/prompt", { prompt: [{ type: "text", text: prompt }] });
      await received;
    };
    for (let n = 0; n < warmUps; n += 1) await turn();
    await relay.ask<RelayReport>({});
    for (let n = 0; n < turns; n += 1) await latencies.of(turn);
    const { cpuUs, mainUs } = await relay.ask<RelayReport>({});
    reader.leave();
    const all = chunks * turns;
    return { turns: latencies, usOfMain: mainUs / all, usOfProcess: cpuUs / all };
  } finally {
    await relay.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

/** What an event has beside its text, and how many characters share a row and a commit. */
const ENVELOPE_CHARS = 345;
const RUN_CHARS = 64 * 1_024;

/**
 * The rows of a turn in SQLite and nothing else: runs of its events, each in a commit with fsync,
 * and then its folded text and its message. No store can take less of a processor.
 */
export async function databaseAlone({
  chunks,
  bytes,
  warmUps,
  turns,
}: {
  readonly chunks: number;
  readonly bytes: number;
  readonly warmUps: number;
  readonly turns: number;
}): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
  const db = rawDatabase(join(folder, "raw.db"));
  const insert = db.prepare("INSERT INTO events VALUES (1, ?, ?)");
  const run = "x".repeat(RUN_CHARS);
  const said = "x".repeat(chunks * bytes);
  const runs = Math.ceil((chunks * (bytes + ENVELOPE_CHARS)) / RUN_CHARS);
  let id = 0;
  const commit = db.transaction((texts: readonly string[]) => {
    for (const text of texts) insert.run(++id, text);
  });
  const turn = () => {
    for (let n = 0; n < runs; n += 1) commit([run]);
    commit([said, said]);
  };
  for (let n = 0; n < warmUps; n += 1) turn();
  const whole = new Latencies("its rows in SQLite alone");
  const before = process.threadCpuUsage();
  for (let n = 0; n < turns; n += 1) await whole.of(async () => turn());
  const { user, system } = process.threadCpuUsage(before);
  db.close();
  await rm(folder, { recursive: true, force: true });
  const us = (user + system) / turns / chunks;
  return { ...whole.figures, "its rows in SQLite alone, CPU per chunk": `${us.toFixed(2)} µs` };
}
