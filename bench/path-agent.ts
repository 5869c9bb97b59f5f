import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

// The least agent that streams: a prompt names how many chunks of how many bytes it says, each by a
// write of its own, as agents do. So what is measured of a turn is the server.
//
//   chunks N BYTES                    as fast as it can
//   stamped N BYTES                   the same, each with the time at which it was said
//   stamped N BYTES PER_SECOND        at this pace; `Infinity` is as fast as it can
//   stamped N BYTES PER_SECOND EVERY  only each so-manieth with its time
//
// With `--state FOLDER` it keeps what was said in its sessions, and says it again on session/load.

interface Call {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly Block[] };
}

interface Block {
  readonly text?: string;
}

const flag = process.argv.indexOf("--state");
const state = flag < 0 ? null : (process.argv[flag + 1] ?? null);

const OFFER = {
  protocolVersion: 1,
  agentCapabilities: { loadSession: state !== null },
  authMethods: [],
  // `qwen serve` takes no agent that does not say so.
  _meta: { "qwen-code/external-tool-guard-ready": "required-v1" },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const call: Call = JSON.parse(line);
  if (call.id === undefined) return;
  if (call.method === "session/load") repeat(call);
  if (call.method === "session/prompt") await speak(call);
  send({ id: call.id, result: answerTo(call) });
});

function answerTo({ method }: Call): object {
  if (method === "initialize") return OFFER;
  if (method === "session/new") return { sessionId: randomUUID() };
  return method === "session/prompt" ? { stopReason: "end_turn" } : {};
}

async function speak({ params }: Call): Promise<void> {
  const prompt = params?.prompt?.at(-1)?.text ?? "";
  const [how, ...figures] = prompt.split(" ");
  const [count = 1, bytes = 1, perSecond = Number.POSITIVE_INFINITY, every = 1] =
    figures.map(Number);
  const text = "x".repeat(bytes);
  const say = (nth: number) => {
    const isStamped = how === "stamped" && nth % every === 0;
    chunk(params?.sessionId, isStamped ? stamped(text) : text);
  };
  keep(params?.sessionId, { prompt, count, text });
  const startedMs = performance.now();
  for (let said = 0; said < count; said += 1) {
    const waitMs = startedMs + (said * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    say(said);
  }
}

function chunk(sessionId: string | undefined, text: string, sessionUpdate = "agent_message_chunk") {
  const update = { sessionUpdate, content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId, update } });
}

/** As long as the text, with the time in front. Processes of one machine share this clock. */
function stamped(text: string): string {
  const time = `sent@${process.hrtime.bigint()};`;
  return time + text.slice(time.length);
}

interface Kept {
  readonly prompt: string;
  readonly count: number;
  readonly text: string;
}

function fileOf(folder: string, sessionId = ""): string {
  return join(folder, `${sessionId}.jsonl`);
}

function keep(sessionId: string | undefined, turn: Kept) {
  if (state !== null) appendFileSync(fileOf(state, sessionId), `${JSON.stringify(turn)}\n`);
}

function repeat({ params: { sessionId } = {} }: Call) {
  const file = fileOf(state ?? "", sessionId);
  const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  for (const line of lines) {
    const { prompt, count, text }: Kept = JSON.parse(line);
    chunk(sessionId, prompt, "user_message_chunk");
    for (let said = 0; said < count; said += 1) chunk(sessionId, text);
  }
}

function send(message: object) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
