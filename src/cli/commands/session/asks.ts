import type { AskHandle } from "../../../client/index.ts";
import { SESSION_PREFIX_CHARS_MIN } from "../../../core/limits.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { tableText } from "../../output.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { APPROVE, ASKS, DENY } from "../../table/sessions.ts";
import { type Choosing, chosenSession, shortId } from "./choose.ts";

/** Lists what waits for a person. */
export function asks(args: readonly string[]): Promise<number> {
  const act = async ({ client, flags, signal }: OnServer<typeof ASKS>) => {
    const all = await openAsks({ client, signal });
    if (flags.json) process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
    else if (all.length > 0) process.stdout.write(`${table(all)}\n`);
    else console.error("fermata: nothing waits for a person");
    return EXIT.done;
  };
  return runOnServer({ row: ASKS, act }, args);
}

/** Allows one of them. */
export function approve(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof APPROVE>) => {
    const { flags, signal, words } = on;
    const ask = await askOf(on, words[0] ?? "");
    const { option, always } = flags;
    if (option !== undefined) await ask.choose(option, { signal });
    else if (always) await ask.allowAlways({ signal });
    else await ask.allow({ signal });
    return told("approved", ask);
  };
  return runOnServer({ row: APPROVE, fault: notOne, act }, args);
}

/** Refuses one of them. */
export function deny(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof DENY>) => {
    const ask = await askOf(on, on.words[0] ?? "");
    await ask.deny({ signal: on.signal });
    return told("denied", ask);
  };
  return runOnServer({ row: DENY, fault: notOne, act }, args);
}

function notOne(_: unknown, words: readonly string[]): string | null {
  return words.length === 1 ? null : "expected one ask, or the session that asks";
}

function told(what: string, { title }: AskHandle): number {
  console.error(`fermata: ${what}: ${title}`);
  return EXIT.done;
}

async function openAsks({ client, signal }: Choosing): Promise<readonly AskHandle[]> {
  const all: AskHandle[] = [];
  for await (const ask of client.asks.list({ signal })) all.push(ask);
  return all;
}

/** By its own id, or by the session that has one only. */
async function askOf(choosing: Choosing, word: string): Promise<AskHandle> {
  const all = await openAsks(choosing);
  const isLong = word.length >= SESSION_PREFIX_CHARS_MIN;
  const own = isLong ? all.filter(({ requestId }) => requestId.startsWith(word)) : [];
  const found = own.length > 0 ? own : await asksOf(choosing, word, all);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const sentence =
    only === undefined
      ? `nothing waits for a person in "${word}"; all: fermata asks`
      : `"${word}" has ${found.length} asks; choose one:\n${table(found)}`;
  throw new CommandFailure(EXIT.notFound, sentence);
}

async function asksOf(choosing: Choosing, word: string, all: readonly AskHandle[]) {
  const { id } = await chosenSession(choosing, word);
  return all.filter(({ sessionId }) => sessionId === id);
}

function table(all: readonly AskHandle[]): string {
  const rows = all.map(({ requestId, sessionId, kind, title }) => [
    shortId(requestId),
    shortId(sessionId),
    kind === "permission" ? "permission" : "question",
    title.replaceAll(/\s+/g, " "),
    `fermata approve ${shortId(requestId)}`,
  ]);
  return tableText(["ASK", "SESSION", "KIND", "TITLE", "TYPE"], rows);
}
