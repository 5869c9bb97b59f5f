import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { z } from "zod";
import { type AgentMark, type AgentMarks, treeOf } from "../agent/process/marks.ts";
import { killTrees } from "../agent/process/process-tree.ts";
import { OWN_FILES, type WorkspaceFiles } from "../agent/workspace/files.ts";
import { OwnFolders } from "../agent/workspace/location.ts";
import type { TerminalReading } from "../agent/workspace/terminal.ts";
import { Terminals } from "../agent/workspace/terminals.ts";
import type { JsonObject } from "../core/json.ts";
import { TOOL_ANSWER_CHARS_MAX, TOOL_SHELL_MS_MAX, TOOL_TITLE_CHARS_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { SHELL_TOOL } from "../core/skill/skill.ts";
import type { TerminalExit } from "../core/terminal-output.ts";
import { cutText } from "../core/text.ts";
import type { SpawnIdentity } from "../platform/spawn-as.ts";
import {
  answered,
  failed,
  failedBy,
  parseObject,
  type ToolAnswer,
  type ToolCall,
  type ToolContext,
  type ToolInfo,
} from "./tool.ts";

/** A tool that is part of the server. */
export interface BuiltinTool extends ToolInfo {
  callOf(text: string, context: ToolContext): Result<ToolCall>;
  run(input: JsonObject, context: ToolContext, signal: AbortSignal): Promise<ToolAnswer>;
}

export interface ShellOptions {
  /** The whole environment of a command, without secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** By these the next server finds and ends the processes that this one leaves behind (P5). */
  readonly marks: AgentMarks;
  readonly limitMs?: number;
  /** The server's own folders, where no command starts. */
  readonly own?: OwnFolders;
  /** The user of commands; the server's own by default. */
  readonly user?: SpawnIdentity | null;
}

/** Runs a command line in the workspace. When it answers, none of its processes is left. */
export function shellTool(options: ShellOptions): BuiltinTool {
  return builtin({
    name: SHELL_TOOL,
    description: "Run a command line of /bin/sh in the workspace: {command}, or the command.",
    schema: z.strictObject({ command: SYSTEM_TEXT }),
    inputOf: (text) => ({ command: text.trim() }),
    describe: ({ command }) => ({ title: command, kind: "execute", locations: [] }),
    run: ({ command }, context, signal) => runMarked(options, command, context, signal),
  });
}

/** Tools that read and write files of the workspace, except in the server's own folders. */
export function fileTools(
  own: OwnFolders,
  files: WorkspaceFiles = OWN_FILES,
): readonly [BuiltinTool, BuiltinTool] {
  return [readTool(own, files), writeTool(own, files)];
}

const readTool = (own: OwnFolders, files: WorkspaceFiles): BuiltinTool =>
  builtin({
    name: "read_file",
    description: "Read a text file of the workspace: {path, line?, limit?}, or a path.",
    schema: z.strictObject({
      path: SYSTEM_TEXT,
      line: z.int().min(1).optional(),
      limit: z.int().min(1).optional(),
    }),
    inputOf: (text) => ({ path: text.trim() }),
    describe: ({ path }, context) => ({
      title: `Read ${path}`,
      kind: "read",
      locations: [{ path: pathIn(context, path) }],
    }),
    run: async ({ path, line = null, limit = null }, context) => {
      const file = { workspace: context.workspaceCwd, path: pathIn(context, path), own };
      const read = await files.read({ ...file, line, limit }, recordedAlready);
      return read.ok ? answered(read.value.content) : failedBy(read.refusal);
    },
  });

/** Writes the whole file or nothing. */
const writeTool = (own: OwnFolders, files: WorkspaceFiles): BuiltinTool =>
  builtin({
    name: "write_file",
    description: "Write a text file of the workspace: {path, content}, or a path and the content.",
    schema: z.strictObject({ path: SYSTEM_TEXT, content: z.string() }),
    // A path without content is refused: it would empty the file.
    inputOf: (text) => {
      const [, path = "", content] = /^\s*(\S+)(?:\s(.*))?$/s.exec(text) ?? [];
      return content === undefined ? { path } : { path, content };
    },
    describe: ({ path }, context) => ({
      title: `Write ${path}`,
      kind: "edit",
      locations: [{ path: pathIn(context, path) }],
    }),
    run: async ({ path, content }, context) => {
      const file = { workspace: context.workspaceCwd, path: pathIn(context, path), own };
      const written = await files.write({ ...file, content }, recordedAlready);
      if (!written.ok) return failedBy(written.refusal);
      return answered(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });

const CANCELLED = "It was cancelled.";

interface BuiltinDefinition<Input extends JsonObject> extends ToolInfo {
  readonly schema: z.ZodType<Input>;
  /** The input for a text that is no JSON object; the schema checks it, too. */
  inputOf(text: string): JsonObject;
  describe(input: Input, context: ToolContext): Pick<ToolCall, "title" | "kind" | "locations">;
  run(input: Input, context: ToolContext, signal: AbortSignal): Promise<ToolAnswer>;
}

function builtin<Input extends JsonObject>(definition: BuiltinDefinition<Input>): BuiltinTool {
  const { name, description, schema } = definition;
  const parse = (input: JsonObject): Result<Input> => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return ok(parsed.data);
    const [issue] = parsed.error.issues;
    const reason = [issue?.path.join("."), issue?.message].filter(Boolean).join(": ");
    return fail("tool_input_invalid", { tool: name, reason });
  };
  return {
    name,
    description,
    callOf: (text, context) => {
      const input = parse(parseObject(text) ?? definition.inputOf(text));
      if (!input.ok) return input;
      const { title, ...rest } = definition.describe(input.value, context);
      const line = cutText(title.replace(/\s+/g, " "), TOOL_TITLE_CHARS_MAX);
      return ok({ name, title: line, ...rest, input: input.value });
    },
    run: async (raw, context, signal) => {
      const input = parse(raw);
      if (!input.ok) return failedBy(input.refusal);
      if (signal.aborted) return failed(CANCELLED);
      return definition.run(input.value, context, signal);
    },
  };
}

/** A text for the operating system, which ends a text at its first NUL. */
const SYSTEM_TEXT = z
  .string()
  .refine((text) => text.trim() !== "", "it is empty")
  .refine((text) => !text.includes("\0"), "it holds a NUL character");

/**
 * Resolves a path without looking at the disk. People allow exactly this path, so it is also the
 * path that the tool uses.
 */
function pathIn({ cwd }: ToolContext, path: string): string {
  return resolve(cwd, path);
}

/**
 * The session logs a call before it runs, so the guards of files and commands, which record each
 * access first, have nothing to wait for.
 */
async function recordedAlready(): Promise<void> {}

async function runMarked(
  options: ShellOptions,
  command: string,
  { workspaceCwd: workspace, cwd }: ToolContext,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const { environment, marks, limitMs = TOOL_SHELL_MS_MAX } = options;
  const { own = OwnFolders.NONE, user = null } = options;
  const mark = await marks.record(randomUUID(), "shell").catch(() => null);
  if (mark === null) return failed("It was not run, because its mark could not be written.");
  const { marker } = mark;
  const terminals = new Terminals({
    ...{ workspace, cwd, environment, marker, own, user },
    audit: recordedAlready,
  });
  try {
    return await runCommand(terminals, command, limitMs, signal);
  } finally {
    await terminals.endAll();
    await endMarkedProcesses(marks, mark);
  }
}

/** Ends processes that left the group, by their mark. The mark stays if any cannot be ended. */
async function endMarkedProcesses(marks: AgentMarks, mark: AgentMark): Promise<void> {
  const { cleared } = await killTrees([{ ...treeOf(mark), mayStillStart: false }]);
  if (cleared.length > 0) await marks.remove(mark).catch(() => undefined);
}

async function runCommand(
  terminals: Terminals,
  command: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if (signal.aborted) return failed(CANCELLED);
  const created = await terminals.create({
    command: "/bin/sh",
    // Both outputs become one, in the order in which they are written.
    args: ["-c", "--", `exec 2>&1\n${command}`],
    outputByteLimit: TOOL_ANSWER_CHARS_MAX - NOTES_CHARS_MAX,
  });
  if (!created.ok) return failedBy(created.refusal);
  const { terminalId } = created.value;
  const exit = await inTime(limitMs, signal, (end) => terminals.waitForExit(terminalId, end));
  if (!exit.ok) await terminals.kill(terminalId);
  const output = terminals.output(terminalId);
  if (!output.ok) return failedBy(output.refusal);
  const end = exit.ok ? endOf(exit.value) : cancelled(signal, limitMs);
  const text = textOf(output.value, end);
  return end === null ? answered(text) : failed(text);
}

/** Passes on a signal that also fires when the time is over. */
async function inTime<Value>(
  limitMs: number,
  signal: AbortSignal,
  wait: (end: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const stop = new AbortController();
  const end = () => stop.abort();
  const timer = setTimeout(end, limitMs);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  try {
    return await wait(stop.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** Reserved for the notes around an output. */
const NOTES_CHARS_MAX = 256;

function textOf({ output, truncated }: TerminalReading, end: string | null): string {
  const lines = [
    ...(truncated ? ["[the beginning of the output was left out]"] : []),
    ...(output === "" ? [] : [output.replace(/\n$/, "")]),
    ...(end === null ? [] : [`[${end}]`]),
  ];
  return lines.length === 0 ? "[no output]" : lines.join("\n");
}

/** Null if the command succeeded. */
function endOf({ exitCode, signal }: TerminalExit): string | null {
  if (exitCode === 0) return null;
  return signal === null ? `exit code ${exitCode ?? "unknown"}` : `ended by ${signal}`;
}

function cancelled(signal: AbortSignal, limitMs: number): string {
  return signal.aborted ? "it was cancelled" : `it was ended after ${limitMs / 1_000} seconds`;
}
