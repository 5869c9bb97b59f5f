import { AGENTS, EXTENSIONS, TRUST, WORKFLOWS } from "./agents.ts";
import { BACKUP, MISSING, REPAIR, RESTORE, SEIZE, VACUUM } from "./care.ts";
import { AUDIT, CREDITS, JOIN, MEMBERS, POLICY, PRICES, TENANTS, TOKENS } from "./people.ts";
import type { CommandRow } from "./row.ts";

const SERVE = {
  name: "serve",
  group: "Servers",
  line: "Serve sessions over HTTP. Without a command, fermata does this.",
  usage: ["[OPTIONS]"],
  about: `Serves sessions over HTTP and Server-Sent Events, until Ctrl-C. After Ctrl-C, SIGTERM or
SIGHUP (a closed terminal) it lets turns finish and stops; after a second one it stops at
once. All sessions are kept, and are there again with the next start.

Each option can also be set by a variable (FERMATA_MAX_SESSIONS for
--max-sessions) or under its name in config.json in ~/.fermata (or FERMATA_HOME):
  { "agent": "qwen", "port": 4180, "workspace": ["/srv/app", "/srv/site"] }
A flag overrides the variable, and the variable overrides the file. A switch is turned
off by --no-NAME.

All options, with more words: docs/protocol.md. To run it for others: docs/operations.md.
`,
  options: {},
  moreOptions: "serve",
  examples: [
    { line: "fermata", means: "this directory, with the agent echo, for a look" },
    {
      line: "fermata --agent qwen --workspace ~/app",
      means: "another directory, with an agent",
    },
    { line: "fermata -p 0", means: "any free port, which is printed" },
    {
      line: 'fermata --agent-command "my-agent --acp"',
      means: "an agent of your own that speaks ACP",
    },
    {
      line: "fermata --hostname 0.0.0.0 --token-file ~/token",
      means: "for other machines, too",
    },
    {
      line: "fermata tokens create --user ada --role owner",
      means: "a token for a person; then all callers need one",
    },
  ],
  exitCodes: { 1: "it could not start", 130: "it was stopped before it was up" },
} as const satisfies CommandRow;

/** All commands, in the order of the help. */
export const ROWS = [
  SERVE,
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
