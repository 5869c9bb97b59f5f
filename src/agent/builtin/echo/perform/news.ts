import type { JsonObject } from "../../../../core/json.ts";
import type { Arguments, ToolArguments } from "../language.ts";
import { configOptionsOf } from "../settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Directives that send a session update of some other kind than speech. */

export async function tool(turn: Turn, args: ToolArguments) {
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
}

/** A call's fields as a script gave them; those that it did not give are left out. */
export function toolCallFacts(
  { kind, title, path, command }: Pick<ToolArguments, "kind" | "title" | "path" | "command">,
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
function contentOf({ kind, path, text, status }: ToolArguments, toolCallId: string): JsonObject {
  if (kind === "edit" && path !== null) {
    return { type: "diff", path, oldText: null, newText: text ?? `edited by ${toolCallId}\n` };
  }
  const said = text ?? `${toolCallId}: ${status}`;
  return { type: "content", content: { type: "text", text: said } };
}

export function plan(turn: Turn, { entries }: Arguments["plan"]): Step {
  return turn.update({
    sessionUpdate: "plan",
    entries: entries.map((content, index) => {
      return { content, priority: "medium", status: index === 0 ? "in_progress" : "pending" };
    }),
  });
}

export function usage(turn: Turn, args: Arguments["usage"]): Step {
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
}

export function title(turn: Turn, { text }: Arguments["title"]): Step {
  turn.session.record({ kind: "title", title: text });
  return turn.update({ sessionUpdate: "session_info_update", title: text });
}

export function commands(turn: Turn, { names }: Arguments["commands"]): Step {
  return turn.update({
    sessionUpdate: "available_commands_update",
    availableCommands: names.map((name) => ({ name, description: `Says ${name}` })),
  });
}

export function mode(turn: Turn, { modeId }: Arguments["mode"]): Step {
  turn.session.record({ kind: "mode", modeId });
  return turn.update({ sessionUpdate: "current_mode_update", currentModeId: modeId });
}

export function config(turn: Turn, { id, value }: Arguments["config"]): Step {
  turn.session.record({ kind: "config", id, value });
  const configOptions = configOptionsOf(turn.session, turn.stage.flags, turn.stage.link.abilities);
  return turn.update({ sessionUpdate: "config_option_update", configOptions });
}

export function update(turn: Turn, args: Arguments["update"]): Step {
  return turn.update(args.update);
}

export function unknownUpdate(turn: Turn): Step {
  return turn.update({
    sessionUpdate: "echo_from_the_future",
    content: { type: "hologram", depth: 3 },
    extra: [null, true, { nested: "as it came" }],
  });
}
