// An agent that says who it is: its process, its home and a hash of its key. With other prompts it
// says the key itself, cut in two at every position.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const { AGENT_KEY = "", AGENT_HOME: home = "" } = process.env;
const key = createHash("sha256").update(AGENT_KEY).digest("hex");

function send(message: object) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function say(sessionId: string, text: string) {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId, update } });
}

function answer(sessionId: string, prompt: string) {
  if (prompt !== "tell") return say(sessionId, JSON.stringify({ pid: process.pid, key, home }));
  for (const spelled of [AGENT_KEY, Buffer.from(AGENT_KEY).toString("base64")]) {
    for (let at = 1; at < spelled.length; at += 1) {
      say(sessionId, `<${spelled.slice(0, at)}`);
      say(sessionId, `${spelled.slice(at)}>`);
    }
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "session/prompt") {
    answer(params.sessionId, params.prompt.at(-1).text);
    return send({ id, result: { stopReason: "end_turn" } });
  }
  const result =
    method === "initialize"
      ? { protocolVersion: 1, agentCapabilities: {}, authMethods: [] }
      : { sessionId: crypto.randomUUID() };
  send({ id, result });
});
