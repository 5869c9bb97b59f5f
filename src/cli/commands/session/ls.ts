import type { ListedSummary, TenantSession } from "../../../client/index.ts";
import { SESSION_STATES, type SessionState } from "../../../core/status.ts";
import { canonical } from "../../../platform/folder.ts";
import { oneOf } from "../../command-line.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { folderText, paint, sinceText, tableText } from "../../output.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { LS } from "../../table/sessions.ts";
import { labelOf, shortId } from "./choose.ts";

type OnLs = OnServer<typeof LS>;

/** Lists sessions. */
export function ls(args: readonly string[]): Promise<number> {
  return runOnServer({ row: LS, fault, act: list }, args);
}

function fault({ status }: OnLs["flags"], [word]: readonly string[]): string | null {
  if (word !== undefined) return `the word "${word}" is one too many`;
  const unknown = statesIn(status).find((state) => !isState(state));
  return unknown === undefined ? null : `--status must be ${oneOf(unknown, SESSION_STATES)}`;
}

function statesIn(status = ""): readonly string[] {
  return status.split(",").filter((state) => state !== "");
}

function isState(word: string): word is SessionState {
  return SESSION_STATES.some((state) => state === word);
}

async function list(on: OnLs): Promise<number> {
  const { flags } = on;
  if (flags.watch) return watch(on);
  const rows = (await listed(on)).toSorted((one, other) => urgency(one) - urgency(other));
  if (flags.json) print(JSON.stringify(rows, null, 2));
  else if (flags.quiet) for (const { sessionId } of rows) print(sessionId);
  else if (rows.length > 0) print(table(rows));
  else console.error("fermata: no sessions. Make one: fermata new");
  return EXIT.done;
}

async function listed({ client, flags, signal }: OnLs): Promise<readonly ListedSummary[]> {
  const { all = false, here = false, agent, status } = flags;
  const query = {
    ...(!all && { closed: false }),
    ...(here && { workspace: await canonical(process.cwd()) }),
    ...(agent !== undefined && { agent }),
    ...(status !== undefined && { status: statesIn(status).filter(isState) }),
  };
  const found: ListedSummary[] = [];
  for await (const row of client.sessions.list({ ...query, size: 200, signal })) found.push(row);
  return found;
}

/** What waits for a person comes first, then what is at work. */
function urgency({ status, hasActivePrompt }: ListedSummary): number {
  if (status === "waiting") return 0;
  return hasActivePrompt ? 1 : 2;
}

const HEADINGS = ["NAME", "ID", "STATUS", "AGENT", "WHERE", "CLIENTS", "AGE", "LAST"];

function table(rows: readonly ListedSummary[]): string {
  const cells = rows.map((row) => [
    cut(labelOf(row), NAME_CHARS),
    shortId(row.sessionId),
    `${MARKS[row.status] ?? "·"} ${row.closed ? "closed" : row.status}`,
    row.agent ?? "",
    cut(folderText(row.workspaceCwd), WHERE_CHARS),
    `${row.clientCount}`,
    sinceText(Date.parse(row.createdAt)),
    lastOf(row),
  ]);
  // Columns that no row has are left out, as those of servers that do not tell.
  const kept = HEADINGS.map((_, at) => cells.some((line) => line[at] !== ""));
  const keep = (line: readonly string[]) => line.filter((_, at) => kept[at]);
  return tableText(keep(HEADINGS), cells.map(keep));
}

const NAME_CHARS = 24;
const WHERE_CHARS = 28;

const MARKS: Readonly<Record<string, string>> = {
  waiting: paint("yellow", "●"),
  running: paint("green", "◐"),
  ready: "○",
  error: paint("red", "✗"),
};

/** What it asks with what to type, or what went wrong; else when it was used. */
function lastOf(row: ListedSummary): string {
  const [ask] = row.pendingInteractions ?? [];
  if (ask !== undefined) {
    const title = ask.kind === "permission" ? ask.action.title : ask.title;
    const how = `fermata approve ${row.name ?? shortId(row.sessionId)}`;
    return `asks: ${cut(String(title ?? ""), NAME_CHARS)} → ${how}`;
  }
  if (row.turnError !== undefined) return `failed: ${row.turnError.code}`;
  return `${sinceText(Date.parse(row.updatedAt))} ago`;
}

function cut(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A line for each session as it is, and then for each change. */
async function watch({ client, flags, signal }: OnLs): Promise<number> {
  for await (const change of client.watch({ signal })) {
    if (flags.json) print(JSON.stringify(change));
    else if (change.kind === "session" && (flags.all || !change.session.closed)) {
      print(flags.quiet ? change.session.sessionId : changeText(change.session));
    } else if (change.kind === "deleted") print(`${shortId(change.sessionId)}  deleted`);
  }
  return EXIT.done;
}

function changeText(session: TenantSession): string {
  const { sessionId, status, closed, displayName, workspaceCwd } = session;
  const state = `${MARKS[status] ?? "·"} ${closed ? "closed" : status}`.padEnd(STATUS_CHARS);
  const name = cut(displayName ?? "", NAME_CHARS).padEnd(NAME_CHARS);
  return `${shortId(sessionId)}  ${state}  ${name}  ${folderText(workspaceCwd)}`.trimEnd();
}

const STATUS_CHARS = 12;

function print(text: string) {
  process.stdout.write(`${text}\n`);
}
