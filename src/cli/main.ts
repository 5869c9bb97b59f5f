import { version } from "./output.ts";

const USAGE = `Usage: fermata [command] [options]

An agent session server, tmux for AI agents: sessions with any agent that speaks
ACP outlive disconnects, crashes and restarts, and many clients can share one.

Commands:
  serve          Serve sessions over HTTP; this is also what happens without a
                 command. "fermata serve --help" lists its options.
  agents         List the agents that can be hosted, or try one out.
  tokens         Make, list, rotate and revoke the tokens of users.
  members        List, add, change and remove the members of a tenant.
  credits        Show, grant and limit what a tenant may spend.
  tenants        List the tenants of a data directory, or delete one.
  audit          Print what was done in a tenant, by whom, and what was refused.
  backup         Copy all that a server keeps, while it runs.
  restore        Put such a copy into an empty data directory.
  seize          Free a session whose server is gone for good.
  repair         Cut a session's log before what cannot be read any more.

Options:
  -h, --help     Print this help.
  -V, --version  Print the version.
`;

type Command = (args: readonly string[]) => Promise<number>;

/** Loaded when it is wanted: a server is large, and nobody waits for it to see the version. */
const serve: Command = async (args) => (await import("./commands/serve.ts")).serve(args);
const agents: Command = async (args) => (await import("./commands/agents.ts")).agents(args);
const members: Command = async (args) => (await import("./commands/members.ts")).members(args);
const tokens: Command = async (args) => (await import("./commands/tokens.ts")).tokens(args);
const credits: Command = async (args) => (await import("./commands/credits.ts")).credits(args);
const audit: Command = async (args) => (await import("./commands/audit.ts")).audit(args);
const tenants: Command = async (args) => (await import("./commands/tenants.ts")).tenants(args);
const backup: Command = async (args) => (await import("./commands/backup.ts")).backup(args);
const restore: Command = async (args) => (await import("./commands/backup.ts")).restore(args);
const seize: Command = async (args) => (await import("./commands/stored-sessions.ts")).seize(args);
const repair: Command = async (args) =>
  (await import("./commands/stored-sessions.ts")).repair(args);

const COMMANDS: Readonly<Record<string, Command>> = {
  agents,
  audit,
  backup,
  credits,
  members,
  repair,
  restore,
  seize,
  serve,
  tenants,
  tokens,
};

/** Runs the command line and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on("error", endQuietlyWhenReaderLeft);
  const [name = "", ...rest] = args;
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]?.(rest) ?? 1;
  if (name === "--help" || name === "-h") return said(USAGE);
  if (name === "--version" || name === "-V") return said(`${version()}\n`);
  if (name === "" || name.startsWith("--")) return serve(args);
  console.error(`fermata: there is no command "${name}"; run "fermata --help" to see them all.`);
  return 2;
}

function said(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** A reader such as `head` may leave early; that is its right and not an error of ours. */
function endQuietlyWhenReaderLeft(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}
