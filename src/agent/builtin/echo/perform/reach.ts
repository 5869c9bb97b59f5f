import { resolve } from "node:path";
import { isObject, type JsonObject, stringAt } from "../../../../core/json.ts";
import { CLIENT_METHODS } from "../../../../wire/acp.ts";
import type { RpcError } from "../../../../wire/rpc.ts";
import type { Reply } from "../client-link.ts";
import type { Arguments } from "../language.ts";
import type { Step, Turn } from "../turn.ts";

/** Directives that use what the client serves. */

export function failureOf({ code, message }: RpcError): string {
  return `failed with ${code}: ${message}`;
}

export async function read(turn: Turn, { path, line, limit }: Arguments["read"]) {
  if (!turn.stage.link.abilities.readsFiles) return turn.say("the client reads no files\n");
  const reply = await turn.call(CLIENT_METHODS.readTextFile, {
    path: resolve(turn.session.around.cwd, path),
    ...(line === null ? {} : { line }),
    ...(limit === null ? {} : { limit }),
  });
  const said = "error" in reply ? failureOf(reply.error) : (textAt(reply, "content") ?? "nothing");
  return turn.say(`read ${path}: ${said}\n`);
}

export async function write(turn: Turn, { path, text }: Arguments["write"]) {
  if (!turn.stage.link.abilities.writesFiles) return turn.say("the client writes no files\n");
  const reply = await turn.call(CLIENT_METHODS.writeTextFile, {
    path: resolve(turn.session.around.cwd, path),
    content: text,
  });
  return turn.say(`write ${path}: ${"error" in reply ? failureOf(reply.error) : "done"}\n`);
}

export async function run(turn: Turn, { tool, command, args }: Arguments["run"]) {
  if (!turn.stage.link.abilities.hasTerminals) return turn.say("the client has no terminals\n");
  const made = await turn.call(CLIENT_METHODS.createTerminal, {
    command,
    args,
    cwd: turn.session.around.cwd,
  });
  const terminalId = textAt(made, "terminalId");
  if (terminalId === null) return turn.say(`run ${command}: ${sayReply(made)}\n`);
  const naming = { toolCallId: tool, content: [{ type: "terminal", terminalId }] };
  const line = [command, ...args].join(" ");
  const facts = { title: line, kind: "execute", rawInput: { command: line } };
  if (tool !== null) {
    await turn.update({ sessionUpdate: "tool_call", ...facts, status: "in_progress", ...naming });
  }
  const exited = await turn.call(CLIENT_METHODS.waitForTerminalExit, { terminalId });
  if (turn.isCancelled) await turn.callAnyway(CLIENT_METHODS.killTerminal, { terminalId });
  const output = await turn.callAnyway(CLIENT_METHODS.terminalOutput, { terminalId });
  await turn.callAnyway(CLIENT_METHODS.releaseTerminal, { terminalId });
  if (tool === null) {
    return turn.say(`run ${command}: ${sayReply(exited)}\n${textAt(output, "output") ?? ""}\n`);
  }
  return turn.update({ sessionUpdate: "tool_call_update", status: "completed", ...naming });
}

export async function call(turn: Turn, { method, params }: Arguments["call"]) {
  return turn.say(`call ${method}: ${sayReply(await turn.call(method, params))}\n`);
}

export function notify(turn: Turn, { method, params }: Arguments["notify"]): Step {
  return turn.stage.link.notify(method, params);
}

function sayReply(reply: Reply): string {
  return "error" in reply ? failureOf(reply.error) : JSON.stringify(reply.result);
}

function textAt(reply: Reply, key: string): string | null {
  const result: JsonObject = "result" in reply && isObject(reply.result) ? reply.result : {};
  return stringAt(result, key);
}
