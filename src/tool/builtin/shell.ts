import { randomUUID } from "node:crypto";
import { z } from "zod";
import { killTrees } from "../../agent/process/process-tree.ts";
import { type AgentMark, type AgentMarks, treeOf } from "../../agent/process/marks.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import type { TerminalReading } from "../../agent/workspace/terminal.ts";
import { Terminals } from "../../agent/workspace/terminals.ts";
import { TOOL_ANSWER_CHARS_MAX, TOOL_SHELL_MS_MAX } from "../../core/limits.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import { answered, CALLED_OFF, failed, failedBy } from "../answer.ts";
import type { ToolAnswer, ToolPlace } from "../tool.ts";
import { type Builtin, builtin, recordedAlready, SYSTEM_TEXT } from "./builtin.ts";

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
