import { resolve } from "node:path";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { CLIENT_METHODS } from "../../../wire/acp.ts";
import type { RpcError } from "../../../wire/rpc.ts";
import type { EchoReply } from "./client-link.ts";
import type { Arguments } from "./language.ts";
import { configOptionsOf } from "./settings.ts";
import type { Performers, Turn } from "./turn.ts";

/** Directives that send session updates other than text. */
const UPDATE_DIRECTIVES = {
  tool: async (turn, args) => {
    const toolCallId = args.id ?? turn.session.nextCallId();
    const isOpen = turn.openCalls.has(toolCallId);
    if (!isOpen) {
      await turn.update({
        sessionUpdate: "tool_call",
        toolCallId,
        status: "in_progress",
        ...toolCallFacts({ ...args, kind: args.kind ?? "other" }, `Tool call ${toolCallId}`),
      });
    }
    turn.openCalls.add(toolCallId);
    if (args.status === "open" && !isOpen) return undefined;
    const isEnd = args.status === "completed" || args.status === "failed";
    if (isEnd) turn.openCalls.delete(toolCallId);
    return turn.update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: args.status === "open" ? "in_progress" : args.status,
      ...(isOpen ? toolCallFacts(args, null) : {}),
      content: [contentOf(args, toolCallId)],
    });
  },
  plan: (turn, { entries }) =>
    turn.update({
      sessionUpdate: "plan",
      entries: entries.map((content, index) => {
        return { content, priority: "medium", status: index === 0 ? "in_progress" : "pending" };
      }),
    }),
  usage: (turn, args) => {
    const { used, size, cost } = args;
    const before = turn.usage;
    turn.usage = {
      ...args,
      input: args.input + (before?.input ?? 0),
      output: args.output + (before?.output ?? 0),
      cached: args.cached + (before?.cached ?? 0),
      thought: args.thought + (before?.thought ?? 0),
    };
    const update = { sessionUpdate: "usage_update", used, size };
    return turn.update(
      cost === null ? update : { ...update, cost: { amount: cost, currency: "USD" } },
    );
  },
  title: (turn, { text }) => {
    turn.session.record({ kind: "title", title: text });
    return turn.update({ sessionUpdate: "session_info_update", title: text });
  },
  commands: (turn, { names }) =>
    turn.update({
      sessionUpdate: "available_commands_update",
      availableCommands: names.map((name) => ({ name, description: `Says ${name}` })),
    }),
  mode: (turn, { modeId }) => {
    turn.session.record({ kind: "mode", modeId });
    return turn.update({ sessionUpdate: "current_mode_update", currentModeId: modeId });
  },
  config: (turn, { id, value }) => {
    turn.session.record({ kind: "config", id, value });
    const configOptions = configOptionsOf(turn.session, turn.deps);
    return turn.update({ sessionUpdate: "config_option_update", configOptions });
  },
  update: (turn, { update }) => turn.update(update),
  "unknown-update": (turn) =>
    turn.update({
      sessionUpdate: "echo_from_the_future",
      content: { type: "hologram", depth: 3 },
      extra: [null, true, { nested: "as it came" }],
    }),
} satisfies Partial<Performers>;

/** A call's fields as the script has them, without those that it does not have. */
function toolCallFacts(
  { kind, title, path, command }: Pick<Arguments["tool"], "kind" | "title" | "path" | "command">,
  defaultTitle: string | null,
): JsonObject {
  const shown = title ?? command ?? defaultTitle;
  const input = { ...(path === null ? {} : { path }), ...(command === null ? {} : { command }) };
  return {
    ...(shown === null ? {} : { title: shown }),
    ...(kind === null ? {} : { kind }),
    ...(path === null ? {} : { locations: [{ path }] }),
    ...(Object.keys(input).length === 0 ? {} : { rawInput: input }),
  };
}

/** An edit shows its difference, and everything else a line of text. */
function contentOf({ kind, path, text, status }: Arguments["tool"], id: string): JsonObject {
  if (kind === "edit" && path !== null) {
    return { type: "diff", path, oldText: null, newText: text ?? `edited by ${id}\n` };
  }
  return { type: "content", content: { type: "text", text: text ?? `${id}: ${status}` } };
}

/** Directives that need a person. */
const ASK_DIRECTIVES = {
  ask: async (turn, args) => {
    const toolCallId = args.tool ?? turn.session.nextCallId();
    const facts = { status: "pending", ...toolCallFacts(args, `Permission for ${toolCallId}`) };
    const reply = await turn.ask(CLIENT_METHODS.requestPermission, {
      toolCall: args.tool === null ? { toolCallId, ...facts } : { toolCallId },
      options: args.options.map(optionOf),
    });
    return turn.say(`permission for ${toolCallId}: ${outcomeOf(reply)}\n`);
  },
  question: async (turn, { field, text }) => {
    const answer = turn.deps.link.abilities.hasForms
      ? await askByForm(turn, field, text)
      : await askByPermission(turn, field, text);
    return turn.say(`${field}: ${answer}\n`);
  },
} satisfies Partial<Performers>;

/** `kind`, or `id:kind` where a script wants an id of its own. */
function optionOf(written: string): JsonObject {
  const [optionId = written, kind = optionId] = written.split(":");
  const words = kind.replaceAll("_", " ");
  return { optionId, name: `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`, kind };
}

function outcomeOf(reply: EchoReply): string {
  if ("error" in reply) return failureOf(reply.error);
  const result = isObject(reply.result) ? reply.result : {};
  const outcome = objectAt(result, "outcome") ?? {};
  if (outcome.outcome === "cancelled") return "cancelled";
  const optionId = stringAt(outcome, "optionId");
  if (optionId === null) return "an answer without an outcome";
  const reason = stringAt(objectAt(result, "_meta") ?? {}, "reason");
  return reason === null ? `selected ${optionId}` : `selected ${optionId}, because ${reason}`;
}

async function askByForm(turn: Turn, field: string, text: string): Promise<string> {
  const reply = await turn.ask(CLIENT_METHODS.createElicitation, {
    mode: "form",
    message: text,
    requestedSchema: {
      type: "object",
      properties: { [field]: { type: "string", title: text } },
      required: [field],
    },
  });
  if ("error" in reply) return failureOf(reply.error);
  const result = resultOf(reply);
  if (result.action !== "accept") {
    return stringAt(result, "action") ?? "an answer without an action";
  }
  return JSON.stringify(objectAt(result, "content")?.[field] ?? null);
}

/** As agents asked before ACP had forms: a permission whose input holds the questions. */
async function askByPermission(turn: Turn, field: string, text: string): Promise<string> {
  const reply = await turn.ask(CLIENT_METHODS.requestPermission, {
    toolCall: {
      toolCallId: turn.session.nextCallId(),
      title: text,
      kind: "other",
      status: "pending",
      rawInput: { questions: [{ answerKey: field, question: text }] },
    },
    options: [
      { optionId: "answer", name: "Answer", kind: "allow_once" },
      { optionId: "decline", name: "Decline", kind: "reject_once" },
    ],
  });
  const outcome = outcomeOf(reply);
  if (outcome !== "selected answer") return outcome === "selected decline" ? "decline" : outcome;
  return JSON.stringify(objectAt(resultOf(reply), "answers")?.[field] ?? null);
}

/** Directives that use files and terminals of the client. */
const WORKSPACE_DIRECTIVES = {
  read: async (turn, { path, line, limit }) => {
    if (!turn.deps.link.abilities.readsFiles) return turn.say("the client reads no files\n");
    const reply = await turn.call(CLIENT_METHODS.readTextFile, {
      path: resolve(turn.session.options.cwd, path),
      ...(line === null ? {} : { line }),
      ...(limit === null ? {} : { limit }),
    });
    const text = stringAt(resultOf(reply), "content") ?? "nothing";
    return turn.say(`read ${path}: ${"error" in reply ? failureOf(reply.error) : text}\n`);
  },
  write: async (turn, { path, text }) => {
    if (!turn.deps.link.abilities.writesFiles) return turn.say("the client writes no files\n");
    const reply = await turn.call(CLIENT_METHODS.writeTextFile, {
      path: resolve(turn.session.options.cwd, path),
      content: text,
    });
    return turn.say(`write ${path}: ${"error" in reply ? failureOf(reply.error) : "done"}\n`);
  },
  run: (turn, args) => runCommand(turn, args),
  call: async (turn, { method, params }) =>
    turn.say(`call ${method}: ${replyText(await turn.call(method, params))}\n`),
  notify: (turn, { method, params }) => turn.deps.link.notify(method, params),
} satisfies Partial<Performers>;

async function runCommand(turn: Turn, { tool, command, args }: Arguments["run"]) {
  if (!turn.deps.link.abilities.hasTerminals) return turn.say("the client has no terminals\n");
  const { cwd } = turn.session.options;
  const made = await turn.call(CLIENT_METHODS.createTerminal, { command, args, cwd });
  const terminalId = stringAt(resultOf(made), "terminalId");
  if (terminalId === null) return turn.say(`run ${command}: ${replyText(made)}\n`);
  const naming = { toolCallId: tool, content: [{ type: "terminal", terminalId }] };
  const line = [command, ...args].join(" ");
  const facts = { title: line, kind: "execute", rawInput: { command: line } };
  if (tool !== null) {
    await turn.update({ sessionUpdate: "tool_call", ...facts, status: "in_progress", ...naming });
  }
  const exited = await turn.call(CLIENT_METHODS.waitForTerminalExit, { terminalId });
  // These clean up, so a cancelled turn makes them too.
  if (turn.isCancelled) await turn.ask(CLIENT_METHODS.killTerminal, { terminalId });
  const output = await turn.ask(CLIENT_METHODS.terminalOutput, { terminalId });
  await turn.ask(CLIENT_METHODS.releaseTerminal, { terminalId });
  if (tool !== null) {
    return turn.update({ sessionUpdate: "tool_call_update", status: "completed", ...naming });
  }
  const text = stringAt(resultOf(output), "output") ?? "";
  return turn.say(`run ${command}: ${replyText(exited)}\n${text}\n`);
}

/** A tool without the name of a server is the client's own. */
const OWN_SERVER = "fermata";

/** Asks a server of the session so many times at once; a cancel of the turn withdraws that. */
async function askServer(
  turn: Turn,
  server: string,
  { method, params, times }: { method: string; params: JsonObject; times: number },
): Promise<readonly (JsonObject | string)[]> {
  // Imported here, because every start would pay for it and few turns need it.
  const { mcpServerOf } = await import("./mcp-server.ts");
  const found = await mcpServerOf(turn.session, server);
  if (typeof found === "string") return [found];
  const cancelled = turn.untilCancelled();
  return Promise.all(Array.from({ length: times }, () => found.request(method, params, cancelled)));
}

function textIn(answer: JsonObject | string): string {
  if (typeof answer === "string") return answer;
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isObject) : [];
  const text = blocks.map((block) => stringAt(block, "text") ?? "").join("\n");
  return answer.isError === true ? `error: ${text}` : text;
}

function toolsIn(answer: JsonObject | string): string {
  if (typeof answer === "string") return answer;
  const tools = Array.isArray(answer.tools) ? answer.tools.filter(isObject) : [];
  return tools.map((tool) => stringAt(tool, "name")).join(", ");
}

function variablesOf({ env }: JsonObject): readonly JsonObject[] {
  return Array.isArray(env) ? env.filter(isObject) : [];
}

/** Directives that use the MCP servers that the session was given. */
const MCP_DIRECTIVES = {
  mcp: async (turn, { tool, input, times }) => {
    const [first = "", name] = tool.split(":");
    const params = { name: name ?? first, arguments: input };
    const server = name === undefined ? OWN_SERVER : first;
    const answers = await askServer(turn, server, { method: "tools/call", params, times });
    return turn.say(`mcp ${tool}: ${answers.map(textIn).join("\n")}\n`);
  },
  "mcp-tools": async (turn) => {
    for (const { name } of turn.session.options.mcpServers) {
      const server = String(name);
      const answers = await askServer(turn, server, { method: "tools/list", params: {}, times: 1 });
      await turn.say(`${server}: ${answers.map(toolsIn).join()}\n`);
    }
    return undefined;
  },
  "mcp-env": (turn) => {
    const variables = turn.session.options.mcpServers.flatMap(variablesOf);
    return turn.say(variables.map(({ name, value }) => `${name}=${value}\n`).join(""));
  },
} satisfies Partial<Performers>;

/** Directives that the client takes part in. */
export const CLIENT_DIRECTIVES = {
  ...UPDATE_DIRECTIVES,
  ...ASK_DIRECTIVES,
  ...WORKSPACE_DIRECTIVES,
  ...MCP_DIRECTIVES,
};

function resultOf(reply: EchoReply): JsonObject {
  return "result" in reply && isObject(reply.result) ? reply.result : {};
}

function replyText(reply: EchoReply): string {
  return "error" in reply ? failureOf(reply.error) : JSON.stringify(reply.result);
}

function failureOf({ code, message }: RpcError): string {
  return `failed with ${code}: ${message}`;
}
