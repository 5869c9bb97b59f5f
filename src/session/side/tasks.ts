import type { SessionId, ShellId } from "../../core/id.ts";
import { DISPLAY_NAME_CHARS_MAX } from "../../core/limits.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { ShellPlace } from "./shell.ts";

/** The wire's answer to what goes on in a session beside its turns. */
export interface TasksAnswer {
  readonly v: 1;
  readonly sessionId: SessionId;
  readonly now: number;
  readonly tasks: readonly ShellTask[];
}

/** A client's shell command; one that has ended is in the log, and no task any more. */
interface ShellTask {
  readonly kind: "shell";
  readonly id: ShellId;
  readonly label: string;
  readonly description: string;
  readonly status: "running";
  readonly startTime: number;
  readonly runtimeMs: number;
  readonly command: string;
  readonly cwd: string;
  readonly pid?: number;
}

export function tasksAnswer(
  { sessionId, shells, chosen }: Session,
  nowMs: number,
  placeOf: (shellId: ShellId) => ShellPlace | null,
): TasksAnswer {
  const tasks = [...shells].map(([id, { command, startedAtMs }]): ShellTask => {
    const { cwd, pid } = placeOf(id) ?? { cwd: chosen.currentCwd, pid: null };
    const [firstLine = ""] = command.trim().split("\n");
    return {
      kind: "shell",
      id,
      label: cutText(firstLine, DISPLAY_NAME_CHARS_MAX),
      description: command,
      status: "running",
      startTime: startedAtMs,
      runtimeMs: Math.max(0, nowMs - startedAtMs),
      command,
      cwd,
      ...(pid !== null && { pid }),
    };
  });
  return { v: 1, sessionId, now: nowMs, tasks };
}
