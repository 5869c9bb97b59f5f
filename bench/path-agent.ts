import { createInterface } from "node:readline";

// The least agent that streams: `chunks N BYTES` as a prompt makes it say so many chunks, each by a
// write of its own, as agents do. So what is measured of a turn is the server.

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

createInterface({ input: process.stdin }).on("line", (line) => {
  const call: Call = JSON.parse(line);
  if (call.id === undefined) return;
  if (call.method === "session/prompt") speak(call);
  send({ id: call.id, result: answerTo(call) });
});

function answerTo({ method }: Call): object {
  if (method === "initialize") return OFFER;
  if (method === "session/new") return { sessionId: `path-${++sessions}` };
  return method === "session/prompt" ? { stopReason: "end_turn" } : {};
}

function speak({ params }: Call) {
  const [, count = 1, bytes = 1] = params?.prompt?.at(-1)?.text?.split(" ").map(Number) ?? [];
  const content = { type: "text", text: "x".repeat(bytes) };
  const update = { sessionUpdate: "agent_message_chunk", content };
  const told = { method: "session/update", params: { sessionId: params?.sessionId, update } };
  for (let n = 0; n < count; n += 1) send(told);
}

function send(message: object) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
