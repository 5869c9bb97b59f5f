import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { startHost } from "../src/agent/bridge/start.ts";
import { AgentConnection } from "../src/agent/connection.ts";
import { FaultLog } from "../src/agent/fault.ts";
import { AgentMarks } from "../src/agent/process/marks.ts";
import { profileOf } from "../src/agent/profile/profile.ts";
import { DONE } from "../src/core/result.ts";
import { Latencies, type Trial } from "./trial.ts";

const LINES = 20_000;

/** One streamed chunk of text, as ACP sends it. */
const LINE = `${JSON.stringify({
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "sess-1",
    update: {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "x".repeat(100) },
    },
  },
})}\n`;

/** Lines of a real process, read by our connection and by the least that could read them. */
function lines(name: string, budget: string, use: (line: string) => unknown): Trial {
  let folder = "";
  const cat = () => spawn("cat", [join(folder, "lines")], { stdio: ["ignore", "pipe", "inherit"] });
  return {
    name,
    budget,
    async prepare() {
      folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
      await writeFile(join(folder, "lines"), LINE.repeat(LINES));
    },
    clear: () => rm(folder, { recursive: true, force: true }),
    floor: { name: "bare reader", run: () => readBarely(outputOf(cat()), use) },
    subject: { name: "connection", run: () => readWell(outputOf(cat())) },
  };
}

async function readBarely(output: Readable, use: (line: string) => unknown): Promise<number> {
  let rest = "";
  let count = 0;
  output.setEncoding("utf8");
  for await (const chunk of output) {
    const parts = `${rest}${chunk}`.split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) use(line);
    count += parts.length;
  }
  return count;
}

async function readWell(output: Readable): Promise<number> {
  let count = 0;
  const peer = {
    notified: () => {
      count += 1;
      return undefined;
    },
    requested: () => ({ answer: Promise.resolve({ result: null }), capacity: undefined }),
  };
  const streams = { input: new PassThrough(), output };
  await new AgentConnection(streams, peer, new FaultLog(() => {})).ended;
  if (count !== LINES) throw new Error(`${count} lines were received, not ${LINES}`);
  return count;
}

/** From nothing to an agent that can take a session, against starting Node at all. */
function start(): Trial {
  let folder = "";
  // As it is published: compiled, so that Node need not do it at every start.
  const script = fileURLToPath(new URL("../dist/agent/builtin/echo/main.js", import.meta.url));
  const profile = profileOf({ name: "echo", command: process.execPath, args: [script] });
  const latencies = new Latencies("from the start to the answer");
  return {
    name: "start of an agent, to its end",
    async prepare() {
      folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
      const build = fileURLToPath(new URL("../scripts/build.js", import.meta.url));
      await once(spawn(process.execPath, [build], { stdio: "inherit" }), "exit");
    },
    clear: () => rm(folder, { recursive: true, force: true }),
    floor: {
      name: "node -e 0",
      async run() {
        await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
        return 1;
      },
    },
    subject: {
      name: "echo",
      async run() {
        const marks = new AgentMarks(join(folder, "marks"));
        const watch = { fault: () => {}, secret: () => DONE, secretGone: () => {} };
        const start = { profile, cwd: folder, marks, env: process.env };
        const host = await latencies.of(() => startHost(start, watch));
        if (!host.ok) throw new Error(JSON.stringify(host.refusal));
        await host.value.end();
        return 1;
      },
    },
    figures: () => latencies.figures,
  };
}

function outputOf({ stdout }: ChildProcess): Readable {
  if (stdout === null) throw new Error("the process has no output");
  return stdout;
}

export const trials: readonly Trial[] = [
  lines("lines in, against reading lines", "", () => {}),
  lines("lines in, against reading and parsing", ">= 0.8", (line) => JSON.parse(line)),
  start(),
];
