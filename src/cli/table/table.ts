import { AGENTS, EXTENSIONS, TRUST, WORKFLOWS } from "./agents.ts";
import { BACKUP, MISSING, REINDEX, REPAIR, RESTORE, SEIZE, VACUUM } from "./care.ts";
import { AUDIT, CREDITS, JOIN, MEMBERS, POLICY, PRICES, TENANTS, TOKENS } from "./people.ts";
import type { CommandRow } from "./row.ts";
import { COMPLETION, CONTEXT, LOGIN, RESTART, SERVE, STATUS, STOP } from "./servers.ts";
import {
  APPROVE,
  ASKS,
  CANCEL,
  CLOSE,
  DENY,
  EXPORT,
  FORK,
  LOGS,
  LS,
  NEW,
  QUEUE,
  RENAME,
  RM,
  RUN,
  SEND,
  SHOW,
  WAIT,
} from "./sessions.ts";

/** All commands, in the order of the help. */
export const ROWS = [
  NEW,
  LS,
  SEND,
  RUN,
  ASKS,
  APPROVE,
  DENY,
  CANCEL,
  QUEUE,
  WAIT,
  LOGS,
  SHOW,
  RENAME,
  FORK,
  CLOSE,
  RM,
  EXPORT,
  SERVE,
  STOP,
  RESTART,
  STATUS,
  LOGIN,
  CONTEXT,
  COMPLETION,
  AGENTS,
  EXTENSIONS,
  WORKFLOWS,
  TRUST,
  TOKENS,
  MEMBERS,
  JOIN,
  TENANTS,
  POLICY,
  CREDITS,
  PRICES,
  AUDIT,
  BACKUP,
  RESTORE,
  SEIZE,
  REPAIR,
  MISSING,
  REINDEX,
  VACUUM,
] as const satisfies readonly CommandRow[];

export type CommandName = (typeof ROWS)[number]["name"];

/** A row of the table with its name known. */
export type KnownRow = CommandRow & { readonly name: CommandName };

/** The command of a word: its name, or another word for it. */
export function rowOf(word: string): KnownRow | null {
  const rows: readonly KnownRow[] = ROWS;
  const found = rows.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
  return found ?? null;
}

/** All words that name a command. */
export function commandWords(): readonly string[] {
  const rows: readonly CommandRow[] = ROWS;
  return rows.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
}
