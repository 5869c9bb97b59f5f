import { FermataError } from "../../../client/index.ts";
import {
  COMMAND_MS_MAX,
  SESSIONS_AT_ONCE_MAX,
  SESSIONS_SEARCHED_MAX,
} from "../../../core/limits.ts";
import { oneOf } from "../../command-line.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { sinceText, tableText } from "../../output.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { CANCEL, QUEUE, WAIT } from "../../table/sessions.ts";
import { durationMs } from "../data-command.ts";
import { type Choosing, chosenSession } from "./choose.ts";

// Commands about what a session has to do just now.

/** Cancels the turn at work. */
export function cancel(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof CANCEL>) => {
    const { flags, signal, words } = on;
    const session = await chosenSession(on, words[0] ?? "");
    const waiting = flags.all ? await session.queue({ signal }) : [];
    const queued = waiting.filter(({ state }) => state === "queued");
    for (const { promptId } of queued) await session.turn(promptId).cancel({ signal });
    await session.cancel({ signal });
    return EXIT.done;
  };
  const fault = (_: unknown, { length }: readonly string[]) =>
    length === 1 ? null : "expected one session";
  return runOnServer({ row: CANCEL, fault, act }, args);
}

/** Lists what is at work and what waits, or cancels one of it. */
export function queue(args: readonly string[]): Promise<number> {
  return runOnServer({ row: QUEUE, fault: queueFault, act: showQueue }, args);
}

function queueFault(_: unknown, [session, act, promptId, extra]: readonly string[]) {
  const isList = session !== undefined && act === undefined;
  const isRemoval = act === "rm" && promptId !== undefined && extra === undefined;
  return isList || isRemoval ? null : "expected ID, or ID rm PROMPT";
}

async function showQueue(on: OnServer<typeof QUEUE>): Promise<number> {
  const { flags, signal, words } = on;
  const [word = "", , chosen] = words;
  const session = await chosenSession(on, word);
  const prompts = await session.queue({ signal });
  if (chosen !== undefined) {
    const found = prompts.filter(({ promptId }) => promptId.startsWith(chosen));
    const [only] = found;
    if (only !== undefined && found.length === 1) {
      await session.turn(only.promptId).cancel({ signal });
      return EXIT.done;
    }
    throw new CommandFailure(EXIT.notFound, `${found.length} prompts fit "${chosen}"`);
  }
  if (flags.json) process.stdout.write(`${JSON.stringify(prompts, null, 2)}\n`);
  else if (prompts.length === 0) console.error("fermata: nothing is at work, and nothing waits");
  else {
    const rows = prompts.map(({ promptId, state, queuedAt, text }) => [
      promptId,
      state,
      sinceText(queuedAt),
      text.replaceAll(/\s+/g, " ").slice(0, TEXT_CHARS),
    ]);
    process.stdout.write(`${tableText(["PROMPT", "STATE", "AGE", "TEXT"], rows)}\n`);
  }
  return EXIT.done;
}

const TEXT_CHARS = 60;

/** Waits until sessions are idle, or until one asks. */
export function wait(args: readonly string[]): Promise<number> {
  return runOnServer({ row: WAIT, fault: waitFault, act: waitFor }, args);
}

function waitFault(
  { for: what, timeout }: OnServer<typeof WAIT>["flags"],
  words: readonly string[],
) {
  if (words.length === 0) return "expected a session";
  if (words.length > SESSIONS_AT_ONCE_MAX) return `at most ${SESSIONS_AT_ONCE_MAX} sessions`;
  if (what !== "idle" && what !== "ask") return `--for must be ${oneOf(what, ["idle", "ask"])}`;
  if (timeout !== undefined && !durationMs(timeout, COMMAND_MS_MAX)) {
    return "--timeout is a duration such as 90s or 20m";
  }
  return null;
}

async function waitFor(on: OnServer<typeof WAIT>): Promise<number> {
  const { client, flags, signal, words } = on;
  const ids = await Promise.all(words.map(async (word) => (await chosenSession(on, word)).id));
  const busy = new Set(ids);
  const { timeout } = flags;
  const late =
    timeout === undefined ? null : AbortSignal.timeout(durationMs(timeout, COMMAND_MS_MAX) ?? 0);
  const either = late === null ? signal : AbortSignal.any([signal, late]);
  try {
    // What is not there, or is closed, is never told of.
    for (const id of ids) {
      if (!(await isOpen({ ...on, signal: either }, id))) busy.delete(id);
    }
    if (busy.size === 0) return EXIT.done;
    for await (const change of client.watch({ signal: either })) {
      if (change.kind === "deleted") busy.delete(change.sessionId);
      if (change.kind === "session" && busy.has(change.session.sessionId)) {
        const { sessionId, status, pendingPrompts } = change.session;
        if (flags.for === "ask" && status === "waiting") return EXIT.done;
        const isIdle = pendingPrompts === 0 && status !== "running" && status !== "waiting";
        if (isIdle) busy.delete(sessionId);
      }
      if (busy.size === 0) return EXIT.done;
    }
  } catch (thrown) {
    if (late?.aborted !== true) throw thrown;
  }
  throw new CommandFailure(EXIT.timeout, `after ${timeout} not all of them are idle`);
}

/** False of a closed session, which has no status; throws where there is no such session. */
async function isOpen({ client, signal }: Choosing, id: string): Promise<boolean> {
  try {
    return !(await client.sessions.at(id).status({ signal })).closed;
  } catch (thrown) {
    if (!(thrown instanceof FermataError) || thrown.code !== "session_not_found") throw thrown;
    let count = 0;
    for await (const { sessionId } of client.sessions.list({ size: 200, signal })) {
      count += 1;
      if (sessionId === id) return false;
      if (count >= SESSIONS_SEARCHED_MAX) break;
    }
    throw thrown;
  }
}
