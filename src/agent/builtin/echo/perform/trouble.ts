import { CLIENT_METHODS } from "../../../../wire/acp.ts";
import { notificationLine, resultLine } from "../../../../wire/rpc.ts";
import type { Arguments } from "../language.ts";
import { CHUNKS_PER_BREATH, FLOOD_PIECE_BYTES, WAIT_MS_MAX } from "../limits.ts";
import type { Step, Turn } from "../turn.ts";

/** Directives that do what an agent should not. */

export async function crash(turn: Turn, { code }: Arguments["crash"]): Promise<never> {
  await turn.stage.outbox.flushed();
  process.exit(code);
}

/** The turn goes on if the signal is one that does not kill. */
export async function signal(turn: Turn, { name }: Arguments["signal"]) {
  await turn.stage.outbox.flushed();
  process.kill(process.pid, name);
  return undefined;
}

export async function garbage(turn: Turn, { count }: Arguments["garbage"]) {
  for (let number = 1; number <= count && !turn.isCancelled; number += 1) {
    await turn.stage.outbox.send(`garbage ${number}: {"jsonrpc": "2.0", "id":\n`);
    if (number % CHUNKS_PER_BREATH === 0) await new Promise((done) => setImmediate(done));
  }
  return undefined;
}

export function longline(turn: Turn, { bytes }: Arguments["longline"]): Step {
  const line = (text: string) => {
    const content = { type: "text", text };
    const update = { sessionUpdate: "agent_message_chunk", content };
    return notificationLine(CLIENT_METHODS.update, { sessionId: turn.session.id, update });
  };
  // The newline is not of the line.
  const room = Math.max(0, bytes - (line("").length - 1));
  return turn.stage.outbox.send(line("x".repeat(room)));
}

export async function flood(turn: Turn, { bytes }: Arguments["flood"]) {
  const { outbox } = turn.stage;
  const piece = "x".repeat(FLOOD_PIECE_BYTES);
  for (let left = bytes; left > 0 && !turn.isCancelled; left -= FLOOD_PIECE_BYTES) {
    await outbox.send(left < FLOOD_PIECE_BYTES ? piece.slice(0, left) : piece);
  }
  return outbox.send("\n");
}

/** Such a line can be read, but not written again by those who recurse: `JSON.stringify` does. */
export function deep(turn: Turn, { levels }: Arguments["deep"]): Step {
  const update = { sessionUpdate: "tool_call_update", toolCallId: "deep", rawOutput: "HERE" };
  const line = notificationLine(CLIENT_METHODS.update, { sessionId: turn.session.id, update });
  const nested = `${"[".repeat(levels)}${"]".repeat(levels)}`;
  return turn.stage.outbox.send(line.replace('"HERE"', levels === 0 ? "null" : nested));
}

export function stray({ stage: { outbox } }: Turn): Step {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "boo" } };
  outbox.post(notificationLine(CLIENT_METHODS.update, { sessionId: "sess-of-nobody", update }));
  return outbox.send(resultLine("an-id-of-nobody", { stopReason: "end_turn" }));
}

export async function stderr(_: Turn, { text }: Arguments["stderr"]) {
  await new Promise<void>((resolve) => process.stderr.write(`${text}\n`, () => resolve()));
  return undefined;
}

export async function forkChild(turn: Turn, args: Arguments["fork-child"]) {
  // Few turns want this, and every start would pay for it.
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, ["-e", `setTimeout(() => {}, ${WAIT_MS_MAX})`], {
    detached: args.isDetached,
    stdio: ["ignore", args.holdsOutput ? "inherit" : "ignore", "ignore"],
  });
  child.unref();
  return turn.say(`child ${child.pid}\n`);
}
