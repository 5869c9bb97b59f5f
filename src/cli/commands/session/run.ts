import type { AskHandle, SessionHandle, TurnHandle, VerdictValue } from "../../../client/index.ts";
import { isObject, stringAt } from "../../../core/json.ts";
import { COMMAND_MS_MAX } from "../../../core/limits.ts";
import type { AutonomyProfile } from "../../../core/policy/risk.ts";
import { canonical } from "../../../platform/folder.ts";
import { oneOf } from "../../command-line.ts";
import { exitCodeOf } from "../../connect/failure-of.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { EXIT, type ExitCode } from "../../table/exit-codes.ts";
import { RUN } from "../../table/sessions.ts";
import { durationMs } from "../data-command.ts";
import { chosenSession, labelOf, newestHere, shortId } from "./choose.ts";
import { makeSession, mismatch, settingFault } from "./create.ts";
import { promptText } from "./prompt-text.ts";
import { jsonPrinter, openAsksOf, printTurn, type TurnPrinter, textPrinter } from "./show-turn.ts";

type OnRun = OnServer<typeof RUN>;

/** Runs one prompt to its verdict. */
export function run(args: readonly string[]): Promise<number> {
  const { id, rest } = continuedId(args);
  const act = (on: OnRun) => runPrompt(on, id);
  const command = { row: RUN, startsServer: true, takesSignals: true, fault, act } as const;
  return runOnServer(command, rest);
}

/** `--continue=ID` names a session; the switch alone means the one used last here. */
function continuedId(args: readonly string[]) {
  const found = args.find((word) => word.startsWith("--continue="));
  const id = found?.slice("--continue=".length) || null;
  return { id, rest: args.map((word) => (word === found ? "--continue" : word)) };
}

function fault(flags: OnRun["flags"]): string | null {
  const { timeout, approve } = flags;
  if (timeout !== undefined && !durationMs(timeout, COMMAND_MS_MAX)) {
    return "--timeout is a duration such as 90s or 20m";
  }
  if (approve !== undefined && !AUTONOMY.has(approve)) {
    return `--approve must be ${oneOf(approve, [...AUTONOMY.keys()])}`;
  }
  return settingFault(flags);
}

/** What --approve lets happen unasked, as the session's autonomy. */
const AUTONOMY: ReadonlyMap<string, AutonomyProfile> = new Map([
  ["reads", "supervised"],
  ["writes", "balanced"],
  ["exec", "autonomous"],
]);

async function runPrompt(on: OnRun, continued: string | null): Promise<number> {
  const { flags, signal } = on;
  const { named, words } = sessionWord(on, continued);
  const text = await promptText(words);
  const session = flags.continue ? await sessionToContinue(on, named) : await newRun(on);
  const startedMs = performance.now();
  const turn = await session.prompt(text, { signal });
  const printer = flags.json ? jsonPrinter() : textPrinter(flags.quiet === true);
  const limitMs = durationMs(flags.timeout ?? "", COMMAND_MS_MAX);
  const { verdict, asked, ended } = await followed(turn, printer, limitMs);
  const exitCode = asked === null ? (ended ?? codeOf(verdict)) : EXIT.needsApproval;
  if (asked !== null) tellAsk(asked, turn, flags.json === true);
  const { sessionId, promptId } = turn;
  if (flags.json) print({ type: "result", sessionId, promptId, verdict, exitCode });
  else if (!flags.quiet || exitCode !== EXIT.done) {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    console.error(`fermata: ${lastWords(verdict, exitCode, seconds, sessionId)}`);
  }
  return exitCode;
}

/** With --continue and two words or more, a first one that cannot be a prompt is the session. */
function sessionWord({ flags, words }: OnRun, continued: string | null) {
  const [first = "", ...others] = words;
  const isSession = /^(?:[0-9a-f-]{4,36}|\.|-)$/i.test(first) && others.length > 0;
  if (!flags.continue || continued !== null || !isSession) return { named: continued, words };
  return { named: first, words: others };
}

function newRun(on: OnRun): Promise<SessionHandle> {
  const { approve } = on.flags;
  const autonomy = [...AUTONOMY].find(([word]) => word === approve)?.[1];
  return makeSession(on, autonomy === undefined ? {} : { autonomy });
}

/** Refuses one that works elsewhere, or by another mode, and names both. */
async function sessionToContinue(on: OnRun, named: string | null): Promise<SessionHandle> {
  const { client, flags, server, signal } = on;
  const { dir, mode } = flags;
  const here = dir ?? process.cwd();
  const session =
    named === null
      ? client.sessions.at((await newestHere(on, here)).sessionId)
      : await chosenSession(on, named);
  // A closed one is not known to any other call.
  await session.resume({ signal });
  const status = await session.status({ signal });
  const label = labelOf(status);
  const folder = await canonical(here);
  const isNear = server.running !== null || dir !== undefined;
  if (isNear && status.workspaceCwd !== folder) {
    throw mismatch(label, "works in", status.workspaceCwd, folder);
  }
  if (mode === undefined) return session;
  const approvals = await session.approvals({ signal });
  const theirs = stringAt(approvals, "securityMode") ?? "?";
  if (theirs !== mode) throw mismatch(label, "is in mode", theirs, mode);
  return session;
}

interface Followed {
  readonly verdict: VerdictValue;
  /** What only a person may decide, and none is here. */
  readonly asked: AskHandle | null;
  /** Why it was cancelled from here; null if it was not. */
  readonly ended: ExitCode | null;
}

/**
 * Prints the turn. An ask, a signal or the end of the time cancels it; a second signal does not
 * wait for the verdict.
 */
async function followed(
  turn: TurnHandle,
  printer: TurnPrinter,
  limitMs: number | null,
): Promise<Followed> {
  const hurry = new AbortController();
  let asked: AskHandle | null = null;
  let ended: ExitCode | null = null;
  const end = (why: ExitCode) => {
    ended ??= why;
    turn.cancel().catch((error) => hurry.abort(error));
  };
  const interrupt = () => {
    if (ended === EXIT.cancelled) return process.exit(EXIT.cancelled);
    console.error("fermata: cancelling the turn; once more to leave it at that");
    end(EXIT.cancelled);
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  const late = limitMs === null ? undefined : setTimeout(end, limitMs, EXIT.timeout);
  try {
    await printTurn(turn, printer, hurry.signal, async (part) => {
      asked = openAsksOf(part)[0] ?? null;
      if (asked === null) return false;
      await turn.cancel();
      return true;
    });
    return { verdict: await turn.verdict, asked, ended };
  } finally {
    clearTimeout(late);
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

export function codeOf(verdict: VerdictValue): ExitCode {
  if (verdict.kind === "error") return exitCodeOf(verdict.code);
  return verdict.stopReason === "cancelled" ? EXIT.cancelled : EXIT.done;
}

/** One message that programs can read; nothing is answered for the person who was not there. */
function tellAsk(ask: AskHandle, { sessionId, promptId }: TurnHandle, isJson: boolean) {
  const { requestId, kind, title, options, details } = ask;
  const tool = isObject(details) ? (stringAt(details, "kind") ?? null) : null;
  const about = { sessionId, promptId, requestId, kind, title, tool, options };
  const message = { type: "permission_required", ...about };
  if (isJson) print(message);
  else console.error(JSON.stringify(message));
}

function lastWords(verdict: VerdictValue, code: ExitCode, seconds: number, sessionId: string) {
  const id = shortId(sessionId);
  const how = `continue with: fermata run --continue=${id} "…"`;
  if (code === EXIT.needsApproval) {
    return `${id} needs approval; allow it with --approve reads|writes|exec, or use fermata send`;
  }
  if (verdict.kind === "error") return `${id} failed: ${verdict.message} (${verdict.code}); ${how}`;
  const word =
    code === EXIT.done ? "completed" : code === EXIT.timeout ? "ran out of time" : "was cancelled";
  return `${id} ${word} in ${seconds} s; ${how}`;
}

function print(value: object) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
