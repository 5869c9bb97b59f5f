import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { z } from "zod";
import { type AgentMark, type AgentMarks, treeOf } from "../agent/process/marks.ts";
import { killTrees } from "../agent/process/process-tree.ts";
import { readTextFile, writeTextFile } from "../agent/workspace/files.ts";
import { OwnFolders } from "../agent/workspace/location.ts";
import type { TerminalReading } from "../agent/workspace/terminal.ts";
import { Terminals } from "../agent/workspace/terminals.ts";
import type { JsonObject } from "../core/json.ts";
import { TOOL_ANSWER_CHARS_MAX, TOOL_SHELL_MS_MAX, TOOL_TITLE_CHARS_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { TerminalExit } from "../core/terminal-output.ts";
import { cutText } from "../core/text.ts";
import {
  answered,
  CALLED_OFF,
  failed,
  failedBy,
  objectIn,
  type ToolAnswer,
  type ToolCall,
  type ToolInfo,
  type ToolPlace,
} from "./tool.ts";

/** A tool that is part of the server. */
export interface Builtin extends ToolInfo {
  callOf(words: string, place: ToolPlace): Result<ToolCall>;
  run(input: JsonObject, place: ToolPlace, signal: AbortSignal): Promise<ToolAnswer>;
}

/** What one tool has of its own, and others have differently. */
interface Making<Input extends JsonObject> extends ToolInfo {
  readonly schema: z.ZodType<Input>;
  /** What words mean that are no JSON object; it is looked at like any other input. */
  meaning(words: string): JsonObject;
  describe(input: Input, place: ToolPlace): Pick<ToolCall, "title" | "kind" | "locations">;
  run(input: Input, place: ToolPlace, signal: AbortSignal): Promise<ToolAnswer>;
}

function builtin<Input extends JsonObject>(making: Making<Input>): Builtin {
  const { name, description, schema } = making;
  const read = (input: JsonObject): Result<Input> => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return ok(parsed.data);
    const [issue] = parsed.error.issues;
    const reason = [issue?.path.join("."), issue?.message].filter(Boolean).join(": ");
    return fail("tool_input_invalid", { tool: name, reason });
  };
  return {
    name,
    description,
    callOf: (words, place) => {
      const input = read(objectIn(words) ?? making.meaning(words));
      if (!input.ok) return input;
      const { title, ...rest } = making.describe(input.value, place);
      const line = cutText(title.replace(/\s+/g, " "), TOOL_TITLE_CHARS_MAX);
      return ok({ name, title: line, ...rest, input: input.value });
    },
    run: async (given, place, signal) => {
      const input = read(given);
      return input.ok ? making.run(input.value, place, signal) : failedBy(input.refusal);
    },
  };
}

/** A text for the system, which ends such texts at the first NUL. */
const SYSTEM_TEXT = z
  .string()
  .refine((text) => text.trim() !== "", "it is empty")
  .refine((text) => !text.includes("\0"), "it holds a NUL character");

/**
 * Where a path leads from here. What people allow is this very path, so it is also what is used:
 * the names are put together without looking at what they are.
 */
function pathIn({ cwd }: ToolPlace, path: string): string {
  return resolve(cwd, path);
}

/**
 * A call is in its session's log before it is run, so the guards of files and commands, which want
 * each act to be recorded first, have nothing to wait for.
 */
async function recordedAlready(): Promise<void> {}

/** What the commands of a server have in common. */
export interface ShellSetting {
  /** All that a command gets; it has no secrets in it. */
  readonly environment: Readonly<Record<string, string>>;
  /** By these the next server finds and ends what this one leaves behind (P5). */
  readonly marks: AgentMarks;
  /** How long a command may run. */
  readonly limitMs?: number;
  /** Where no command begins, wherever the workspace is. */
  readonly own?: OwnFolders;
}

/** Runs a command line in the workspace. When it answers, nothing of it is left. */
export function shellTool(setting: ShellSetting): Builtin {
  return builtin({
    name: "shell",
    description: "Run a command line of /bin/sh in the workspace: {command}, or the command.",
    schema: z.strictObject({ command: SYSTEM_TEXT }),
    meaning: (words) => ({ command: words.trim() }),
    describe: ({ command }) => ({ title: command, kind: "execute", locations: [] }),
    run: ({ command }, place, signal) => runMarked(setting, command, place, signal),
  });
}

async function runMarked(
  setting: ShellSetting,
  command: string,
  { workspaceCwd: workspace, cwd }: ToolPlace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const { environment, marks, limitMs = TOOL_SHELL_MS_MAX, own = OwnFolders.NONE } = setting;
  const mark = await marks.record(randomUUID(), "shell").catch(() => null);
  if (mark === null) return failed("It could not be noted down beforehand, so it was not run.");
  const { marker } = mark;
  const around = { workspace, cwd, environment, marker, own, audit: recordedAlready };
  const terminals = new Terminals(around);
  try {
    return await run(terminals, command, limitMs, signal);
  } finally {
    await terminals.endAll();
    await endFamily(marks, mark);
  }
}

/** Who left the group still carries the mark. Of what cannot be ended it stays, for later. */
async function endFamily(marks: AgentMarks, mark: AgentMark): Promise<void> {
  const { cleared } = await killTrees([{ ...treeOf(mark), mayStillStart: false }]);
  if (cleared.length > 0) await marks.remove(mark).catch(() => undefined);
}

async function run(
  terminals: Terminals,
  command: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if (signal.aborted) return failed(CALLED_OFF);
  const created = await terminals.create({
    command: "/bin/sh",
    // Both outputs become one, in the order in which they were written.
    args: ["-c", "--", `exec 2>&1\n${command}`],
    outputByteLimit: TOOL_ANSWER_CHARS_MAX - NOTES_CHARS_MAX,
  });
  if (!created.ok) return failedBy(created.refusal);
  const { terminalId } = created.value;
  const exit = await inTime(limitMs, signal, (end) => terminals.waitForExit(terminalId, end));
  if (!exit.ok) await terminals.kill(terminalId);
  const output = terminals.output(terminalId);
  if (!output.ok) return failedBy(output.refusal);
  const end = exit.ok ? endOf(exit.value) : calledOff(signal, limitMs);
  const text = textOf(output.value, end);
  return end === null ? answered(text) : failed(text);
}

/** Gives it a signal that also fires when its time is up. */
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

/** Room for what is said around an output. */
const NOTES_CHARS_MAX = 256;

function textOf({ output, truncated }: TerminalReading, end: string | null): string {
  const lines = [
    ...(truncated ? ["[the beginning of the output was left out]"] : []),
    ...(output === "" ? [] : [output.replace(/\n$/, "")]),
    ...(end === null ? [] : [`[${end}]`]),
  ];
  return lines.length === 0 ? "[no output]" : lines.join("\n");
}

/** Null if it ended well. */
function endOf({ exitCode, signal }: TerminalExit): string | null {
  if (exitCode === 0) return null;
  return signal === null ? `exit code ${exitCode ?? "unknown"}` : `ended by ${signal}`;
}

function calledOff(signal: AbortSignal, limitMs: number): string {
  return signal.aborted ? "it was called off" : `it was ended after ${limitMs / 1_000} seconds`;
}

/** Reading and writing files of the workspace, as far as they are not the server's own. */
export function fileTools(own: OwnFolders): readonly [Builtin, Builtin] {
  return [readTool(own), writeTool(own)];
}

/** Reads a file of the workspace, or some of its lines. */
const readTool = (own: OwnFolders): Builtin =>
  builtin({
    name: "read_file",
    description: "Read a text file of the workspace: {path, line?, limit?}, or a path.",
    schema: z.strictObject({
      path: SYSTEM_TEXT,
      line: z.int().min(1).optional(),
      limit: z.int().min(1).optional(),
    }),
    meaning: (words) => ({ path: words.trim() }),
    describe: ({ path }, place) => ({
      title: `Read ${path}`,
      kind: "read",
      locations: [{ path: pathIn(place, path) }],
    }),
    run: async ({ path, line = null, limit = null }, place, signal) => {
      if (signal.aborted) return failed(CALLED_OFF);
      const order = { workspace: place.workspaceCwd, path: pathIn(place, path), line, limit, own };
      const read = await readTextFile(order, recordedAlready);
      return read.ok ? answered(read.value.content) : failedBy(read.refusal);
    },
  });

/** Writes a file of the workspace, whole or not at all. */
const writeTool = (own: OwnFolders): Builtin =>
  builtin({
    name: "write_file",
    description: "Write a text file of the workspace: {path, content}, or a path and the content.",
    schema: z.strictObject({ path: SYSTEM_TEXT, content: z.string() }),
    // A path alone would empty the file, which nobody means by it.
    meaning: (words) => {
      const [, path = "", content] = /^\s*(\S+)(?:\s(.*))?$/s.exec(words) ?? [];
      return content === undefined ? { path } : { path, content };
    },
    describe: ({ path }, place) => ({
      title: `Write ${path}`,
      kind: "edit",
      locations: [{ path: pathIn(place, path) }],
    }),
    run: async ({ path, content }, place, signal) => {
      if (signal.aborted) return failed(CALLED_OFF);
      const order = { workspace: place.workspaceCwd, path: pathIn(place, path), content, own };
      const written = await writeTextFile(order, recordedAlready);
      if (!written.ok) return failedBy(written.refusal);
      return answered(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });
