import { createInterface } from "node:readline";

// The least agent that streams: a prompt names how many chunks of how many bytes it says, each by a
// write of its own, as agents do. So what is measured of a turn is the server.
//
//   chunks N BYTES              as fast as it can
//   stamped N BYTES             the same, each with the time at which it was said
//   stamped N BYTES PER_SECOND  at this pace

interface Call {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly Block[] };
}

interface Block {
  readonly text?: string;
}

const OFFER = { protocolVersion: 1, agentCapabilities: {}, authMethods: [] };

let sessions = 0;

createInterface({ input: process.stdin }).on("line", async (line) => {
  const call: Call = JSON.parse(line);
  if (call.id === undefined) return;
  if (call.method === "session/prompt") await speak(call);
  send({ id: call.id, result: answerTo(call) });
});

function answerTo({ method }: Call): object {
  if (method === "initialize") return OFFER;
  if (method === "session/new") return { sessionId: `path-${++sessions}` };
  return method === "session/prompt" ? { stopReason: "end_turn" } : {};
}

async function speak({ params }: Call): Promise<void> {
  const [how, ...figures] = params?.prompt?.at(-1)?.text?.split(" ") ?? [];
  const [count = 1, bytes = 1, perSecond = Number.POSITIVE_INFINITY] = figures.map(Number);
  const text = "x".repeat(bytes);
  const say = () => chunk(params?.sessionId, how === "stamped" ? stamped(text) : text);
  const startedMs = performance.now();
  for (let said = 0; said < count; said += 1) {
    const waitMs = startedMs + (said * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    say();
  }
}

function chunk(sessionId: string | undefined, text: string) {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId, update } });
}

/** As long as the text, with the time in front. Processes of one machine share this clock. */
function stamped(text: string): string {
  const time = `sent@${process.hrtime.bigint()};`;
  return time + text.slice(time.length);
}

function send(message: object) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
