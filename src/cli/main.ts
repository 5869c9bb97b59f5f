import { enterCallersFolder } from "./caller.ts";
import { version } from "./output.ts";

const USAGE = `Usage: fermata [command] [options]

An agent session server, tmux for AI agents. Sessions work with any agent that speaks
ACP, and survive disconnects, crashes and restarts. Many clients can share one.

Commands:
  serve          Serve sessions over HTTP (default command).
  agents         List the known agents, or try one.
  tokens         Make, list, rotate and revoke the tokens of users.
  members        List, invite, add, change and remove the members of a tenant.
  join           Redeem an invitation, and save your token.
  policy         Show and set what the users of a tenant may have at most.
  credits        Show, grant and limit what a tenant may spend.
  prices         Show the prices of models, and which of them your agents meet.
  tenants        List the tenants of a data directory, or delete one.
  audit          Print what was done in a tenant, by whom, and what was refused.
  backup         Copy a data directory, also while the server runs.
  restore        Restore a backup into an empty data directory.
  seize          Free a session whose server is gone for good.
  repair         Cut the unreadable end off a session's log.
  missing        List sessions that were stored and are not there any more.
  vacuum         Give the disk back what deleted sessions have left.

"fermata COMMAND --help" lists the options of a command.

Options:
  -h, --help     Print this help.
  -V, --version  Print the version.
`;

type CommandMain = (args: readonly string[]) => Promise<number>;

/** Each command loads its own module: the server is large, and `--version` must be quick. */
const COMMANDS = {
  agents: async (args) => (await import("./commands/agents.ts")).agents(args),
  audit: async (args) => (await import("./commands/audit.ts")).audit(args),
  backup: async (args) => (await import("./commands/backup.ts")).backup(args),
  credits: async (args) => (await import("./commands/credits.ts")).credits(args),
  join: async (args) => (await import("./commands/join.ts")).join(args),
  members: async (args) => (await import("./commands/members.ts")).members(args),
  missing: async (args) => (await import("./commands/upkeep.ts")).missing(args),
  policy: async (args) => (await import("./commands/policy.ts")).policy(args),
  prices: async (args) => (await import("./commands/prices.ts")).prices(args),
  repair: async (args) => (await import("./commands/stored-sessions.ts")).repair(args),
  restore: async (args) => (await import("./commands/backup.ts")).restore(args),
  seize: async (args) => (await import("./commands/stored-sessions.ts")).seize(args),
  serve: async (args) => (await import("./commands/serve.ts")).serve(args),
  tenants: async (args) => (await import("./commands/tenants.ts")).tenants(args),
  tokens: async (args) => (await import("./commands/tokens.ts")).tokens(args),
  vacuum: async (args) => (await import("./commands/upkeep.ts")).vacuum(args),
} satisfies Record<string, CommandMain>;

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

/** Runs the command line and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on("error", exitOnClosedPipe);
  enterCallersFolder(process.env);
  const [name = "", ...rest] = args;
  if (isCommand(name)) return COMMANDS[name](rest);
  if (name === "--help" || name === "-h") return print(USAGE);
  if (name === "--version" || name === "-V") return print(`${version()}\n`);
  if (name === "" || name.startsWith("--")) return COMMANDS.serve(args);
  console.error(`fermata: there is no command "${name}"; see "fermata --help".`);
  return 2;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** A reader such as `head` may close the pipe early, which is no error. */
function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}
