import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

export type ToolResult = {
  readonly exitCode: number;
  /** The signal that ended it; null if it ended by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
};

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const GRACE_MS = 3_000;

let running: ChildProcess | undefined;
let interruptedBy: NodeJS.Signals | undefined;

/**
 * Runs a script of an installed package with this Node; both output streams arrive as one text.
 * What it sends as messages of processes goes to `hear`.
 */
export async function runTool(
  script: string,
  args: readonly string[],
  hear?: (message: unknown) => void,
): Promise<ToolResult> {
  const child = spawn(process.execPath, [`node_modules/${script}`, ...args], {
    cwd: ROOT,
    env: { ...colorSetting(), ...process.env },
    stdio: ["ignore", "pipe", "pipe", ...(hear ? ["ipc" as const] : [])],
    detached: true, // A process group of its own, so that all of it can be ended.
  });
  running = child;
  if (hear) child.on("message", hear);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  // Processes that the tool left behind end with it; they would hold the output open for ever.
  child.once("exit", () => endGroup(child, "SIGKILL"));
  const [exitCode, signal] = await once(child, "close");
  running = undefined;
  if (interruptedBy) exitAfter(interruptedBy);
  // A tool that is killed cannot say so itself.
  const fullOutput = signal ? `${output}\nended by ${signal}` : output;
  return { exitCode: exitCode ?? 1, signal, output: fullOutput };
}

/** On a signal, ends the running tool and then this process; on a second one, at once. */
export function endToolsOnInterrupt(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      const child = running;
      if (!child) return exitAfter(signal);
      endGroup(child, interruptedBy ? "SIGKILL" : "SIGTERM");
      interruptedBy = signal;
      setTimeout(() => endGroup(child, "SIGKILL"), GRACE_MS).unref();
    });
  }
}

/** A tool writes to a pipe, so it cannot know by itself whether the terminal shows colors. */
function colorSetting(): NodeJS.ProcessEnv {
  if (process.env.NO_COLOR || process.env.FORCE_COLOR) return {};
  return process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
}

/** With the exit code that a shell expects of a program ended by this signal. */
function exitAfter(signal: NodeJS.Signals): void {
  process.exit(128 + constants.signals[signal]);
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!isGone) throw error;
  }
}
