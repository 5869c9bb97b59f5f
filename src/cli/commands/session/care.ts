import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { ListedSummary } from "../../../client/index.ts";
import { COMMAND_MS_MAX, SESSIONS_AT_ONCE_MAX } from "../../../core/limits.ts";
import { parseSessionName } from "../../../core/session/name.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { messageOf } from "../../home.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { CLOSE, EXPORT, FORK, RENAME, RM } from "../../table/sessions.ts";
import { durationMs } from "../data-command.ts";
import { chosenSession, labelOf } from "./choose.ts";

// Commands that change what there is of sessions, or take it elsewhere.

/** Gives a session another name, or another title. */
export function rename(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof RENAME>) => {
    const [word = "", ...title] = on.words;
    const session = await chosenSession(on, word);
    const text = title.join(" ");
    const { signal } = on;
    if (parseSessionName(text) === null) await session.rename(text, { signal });
    else await session.setName(text, { signal });
    return EXIT.done;
  };
  const fault = (_: unknown, { length }: readonly string[]) =>
    length < 2 ? "expected a session, and its name or title" : null;
  return runOnServer({ row: RENAME, fault, act }, args);
}

/** Makes a session that goes on from another one. */
export function fork(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof FORK>) => {
    const { flags, signal, words } = on;
    const [word = "", ...title] = words;
    const session = await chosenSession(on, word);
    const name = title.join(" ");
    const { at } = flags;
    const forked = await session.fork({
      signal,
      ...(name !== "" && { name }),
      ...(at !== undefined && { atTurn: at }),
    });
    const { id: sessionId } = forked;
    process.stdout.write(`${flags.json ? JSON.stringify({ sessionId }) : sessionId}\n`);
    return EXIT.done;
  };
  const fault = (_: unknown, [word]: readonly string[]) =>
    word === undefined ? "expected a session" : null;
  return runOnServer({ row: FORK, fault, act }, args);
}

/** Closes sessions; the first that cannot be closed ends it. */
export function close(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof CLOSE>) => {
    for (const word of on.words) {
      const session = await chosenSession(on, word);
      await session.close({ signal: on.signal });
    }
    return EXIT.done;
  };
  return runOnServer({ row: CLOSE, fault: (_, words) => noneOrTooMany(words), act }, args);
}

/** Deletes sessions for good. */
export function rm(args: readonly string[]): Promise<number> {
  return runOnServer({ row: RM, fault: rmFault, act: remove }, args);
}

function rmFault(flags: OnServer<typeof RM>["flags"], words: readonly string[]): string | null {
  const age = flags["older-than"];
  if (age === undefined) return noneOrTooMany(words);
  if (words.length > 0) return "give sessions or --older-than, not both";
  return durationMs(age, COMMAND_MS_MAX * AGES_MAX) ? null : "--older-than is a time such as 30d";
}

/** Times that the longest limit of a command goes into the oldest age: 120 months. */
const AGES_MAX = 120;

async function remove(on: OnServer<typeof RM>): Promise<number> {
  const { client, flags, signal, words } = on;
  const age = flags["older-than"];
  const ids =
    age === undefined
      ? await Promise.all(words.map(async (word) => (await chosenSession(on, word)).id))
      : await unusedFor(on, durationMs(age, COMMAND_MS_MAX * AGES_MAX) ?? 0);
  for (const id of ids) {
    if (!flags["dry-run"]) await client.sessions.at(id).delete({ signal });
    process.stdout.write(`${id}\n`);
  }
  const would = flags["dry-run"] ? "would be " : "";
  console.error(
    `fermata: ${ids.length} ${ids.length === 1 ? "session" : "sessions"} ${would}deleted`,
  );
  return EXIT.done;
}

async function unusedFor({ client, signal }: OnServer<typeof RM>, ms: number) {
  const ids: string[] = [];
  const before = Date.now() - ms;
  for await (const row of client.sessions.list({ size: 200, signal })) {
    const { sessionId, updatedAt, hasActivePrompt } = row;
    if (Date.parse(updatedAt) < before && !hasActivePrompt) ids.push(sessionId);
  }
  return ids;
}

function noneOrTooMany({ length }: readonly string[]): string | null {
  if (length === 0) return "expected a session";
  return length > SESSIONS_AT_ONCE_MAX ? `at most ${SESSIONS_AT_ONCE_MAX} sessions at once` : null;
}

/** Writes the whole conversation. */
export function exportSession(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof EXPORT>) => {
    const { flags, signal, words } = on;
    const session = await chosenSession(on, words[0] ?? "");
    const content = await session.export(flags.format, { signal });
    const pieces = piecesOf(content);
    const path = flags.output;
    if (path === undefined) {
      await pipeline(pieces, process.stdout, { end: false });
      return EXIT.done;
    }
    const file = await newFile(path);
    await pipeline(pieces, file.createWriteStream());
    const row: ListedSummary = await session.status({ signal });
    console.error(`fermata: wrote ${labelOf(row)} to ${path}`);
    return EXIT.done;
  };
  const fault = (_: unknown, { length }: readonly string[]) =>
    length === 1 ? null : "expected one session";
  return runOnServer({ row: EXPORT, fault, act }, args);
}

async function* piecesOf(content: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = content.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** A conversation may hold what others are not to read. */
async function newFile(path: string) {
  try {
    return await open(path, "wx", 0o600);
  } catch (thrown) {
    const isThere = thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST";
    const why = isThere ? "it exists; choose another" : messageOf(thrown);
    throw new CommandFailure(EXIT.usage, `--output ${path}: ${why}`);
  }
}
