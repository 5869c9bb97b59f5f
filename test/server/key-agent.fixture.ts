// An agent that says who it is: its process, its home and a hash of its key. With other prompts it
// says the key itself, cut in two at every position.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const { AGENT_KEY = "", AGENT_HOME: home = "" } = process.env;
const key = createHash("sha256").update(AGENT_KEY).digest("hex");

function send(...messages: readonly object[]) {
  const lines = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write(`${lines.join("\n")}\n`);
}

function chunk(sessionId: string, text: string) {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return { method: "session/update", params: { sessionId, update } };
}

/** The texts of a turn, in order. */
function answer(prompt: string): readonly string[] {
  if (prompt !== "tell") return [JSON.stringify({ pid: process.pid, key, home })];
  const base64 = Buffer.from(AGENT_KEY).toString("base64");
  return [AGENT_KEY, encodeURIComponent(AGENT_KEY), base64].flatMap((spelled) =>
    [...spelled].flatMap((_, at) => [`<${spelled.slice(0, at)}`, `${spelled.slice(at)}>`]),
  );
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "session/prompt") {
    const texts = answer(params.prompt.at(-1).text);
    send(...texts.map((text) => chunk(params.sessionId, text)));
    return send({ id, result: { stopReason: "end_turn" } });
  }
  const result =
    method === "initialize"
      ? { protocolVersion: 1, agentCapabilities: {}, authMethods: [] }
      : { sessionId: crypto.randomUUID() };
  send({ id, result });
});
