import type { Fermata, ListedSummary, SessionHandle } from "../../../client/index.ts";
import { isUuid } from "../../../core/id.ts";
import { SESSION_PREFIX_CHARS_MIN, SESSIONS_SEARCHED_MAX } from "../../../core/limits.ts";
import { parseSessionName } from "../../../core/session/name.ts";
import { didYouMean } from "../../../core/spelling.ts";
import { canonical } from "../../../platform/folder.ts";
import { CommandFailure } from "../../failure.ts";
import { EXIT } from "../../table/exit-codes.ts";

// What people write for a session: its id, the beginning of it, its name, - or a dot.

/** What the words of a command are about. */
export interface Choosing {
  readonly client: Fermata;
  readonly signal: AbortSignal;
}

/** The session that a word means. */
export async function chosenSession(
  { client, signal }: Choosing,
  word: string,
): Promise<SessionHandle> {
  const id = isUuid(word) ? word : await idOf({ client, signal }, word);
  return client.sessions.at(id);
}

async function idOf(choosing: Choosing, word: string): Promise<string> {
  if (word === "-") return (await newest(choosing, {})).sessionId;
  if (word === ".") return (await newestHere(choosing, process.cwd())).sessionId;
  const named = parseSessionName(word) === null ? null : await namedSession(choosing, word);
  if (named !== null) return named;
  const titles: string[] = [];
  const found: ListedSummary[] = [];
  let count = 0;
  for await (const row of choosing.client.sessions.list({ size: 200, signal: choosing.signal })) {
    count += 1;
    if (count > SESSIONS_SEARCHED_MAX) break;
    const isMeant = isPrefix(word) && row.sessionId.startsWith(word.toLowerCase());
    if (isMeant || row.displayName === word) found.push(row);
    titles.push(row.name ?? "", row.displayName ?? "");
  }
  const [only, second] = found;
  if (only !== undefined && second === undefined) return only.sessionId;
  if (only === undefined) {
    const hint = isPrefix(word) || word.length >= SESSION_PREFIX_CHARS_MIN ? "" : TOO_SHORT;
    const meant = didYouMean(word, titles);
    throw notFound(`there is no session "${word}"${meant}${hint}. All: fermata ls -a`);
  }
  const all = found.map((row) => `  ${labelOf(row)}  ${row.sessionId}`).join("\n");
  throw notFound(`"${word}" fits ${found.length} sessions; write more of the id:\n${all}`);
}

async function namedSession({ client, signal }: Choosing, name: string): Promise<string | null> {
  for await (const row of client.sessions.list({ name, size: 1, signal })) {
    // A server that does not know the condition lists all sessions.
    return row.name === name ? row.sessionId : null;
  }
  return null;
}

const TOO_SHORT = ` (the beginning of an id has at least ${SESSION_PREFIX_CHARS_MIN} characters)`;

function isPrefix(word: string): boolean {
  return word.length >= SESSION_PREFIX_CHARS_MIN && /^[0-9a-f-]+$/i.test(word);
}

/** The session that was used last in this folder. */
export async function newestHere(choosing: Choosing, folder: string): Promise<ListedSummary> {
  return newest(choosing, { workspace: await canonical(folder) });
}

async function newest(
  { client, signal }: Choosing,
  where: { readonly workspace?: string },
): Promise<ListedSummary> {
  for await (const row of client.sessions.list({ ...where, size: 1, signal })) return row;
  const place = where.workspace === undefined ? "" : ` in ${where.workspace}`;
  throw notFound(`there is no session${place} yet. Make one: fermata new`);
}

/** What a person calls it: its name, else its title, else the beginning of its id. */
export function labelOf(row: Pick<ListedSummary, "name" | "displayName" | "sessionId">): string {
  return row.name ?? row.displayName ?? shortId(row.sessionId);
}

/** Enough to tell sessions apart, and to be typed. */
export function shortId(sessionId: string): string {
  return sessionId.slice(0, 8);
}

function notFound(sentence: string): CommandFailure {
  return new CommandFailure(EXIT.notFound, sentence);
}
