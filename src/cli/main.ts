import { existsSync } from "node:fs";
import { didYouMean } from "../core/spelling.ts";
import { enterCallersFolder } from "./caller.ts";
import { version } from "./output.ts";

const USAGE = `Usage: fermata [COMMAND] [OPTIONS]

An agent session server, tmux for AI agents. Sessions work with any agent that speaks
ACP, and survive disconnects, crashes and restarts. Many clients can share one.

Serve:
  serve          Serve sessions over HTTP. Without a command, fermata does this.
  agents         List the known agents, try one, or sign in to it.

Extensions:
  extensions     List the extensions of sessions; write and check your own.
  trust          Let the code of an extension run, by its content.

People and credits:
  tokens         Make, list, rotate and revoke the tokens of users.
  members        List, invite, add, change and remove the members of a tenant.
  join           Redeem an invitation, and save your token.
  tenants        List the tenants of a data directory, or delete one.
  policy         Show and set what the users of a tenant may have at most.
  credits        Show, grant and limit what a tenant may spend.
  prices         Show the prices of models, and which of them your agents meet.
  audit          Print what was done in a tenant, by whom, and what was refused.

Care of the data:
  backup         Copy a data directory, also while the server runs.
  restore        Restore a backup into an empty data directory.
  seize          Free a session whose server is gone for good.
  repair         Cut the unreadable end off a session's log.
  missing        List sessions that were stored and are not there any more.
  vacuum         Give the disk back what deleted sessions have left.

Options:
  -h, --help     Print this help; "fermata COMMAND --help" explains a command.
  -V, --version  Print the version.

Examples:
  fermata                           serve this directory with the agent echo, for a look
  fermata agents                    which agents are installed, and how to get the others
  fermata --agent qwen              serve this directory with an agent
  fermata -p 0 --workspace ~/app    serve another one, on any free port
`;

type CommandMain = (args: readonly string[]) => Promise<number>;

/** Each command loads its own module: the server is large, and `--version` must be quick. */
const COMMANDS = {
  agents: async (args) => (await import("./commands/agents.ts")).agents(args),
  audit: async (args) => (await import("./commands/audit.ts")).audit(args),
  backup: async (args) => (await import("./commands/backup.ts")).backup(args),
  credits: async (args) => (await import("./commands/credits.ts")).credits(args),
  extensions: async (args) => (await import("./commands/extensions.ts")).extensions(args),
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
  trust: async (args) => (await import("./commands/trust.ts")).trust(args),
  vacuum: async (args) => (await import("./commands/upkeep.ts")).vacuum(args),
} satisfies Record<string, CommandMain>;

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

/** Runs the command line and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.off("error", exitOnClosedPipe).on("error", exitOnClosedPipe);
  enterCallersFolder(process.env);
  const [name = "", ...rest] = args;
  if (isCommand(name)) return COMMANDS[name](rest);
  if (name === "help" && isCommand(rest[0] ?? "")) return main([...rest.slice(0, 1), "--help"]);
  if (["--help", "-h", "help"].includes(name)) return print(USAGE);
  if (["--version", "-V", "version"].includes(name)) return print(`${version()}\n`);
  if (name === "" && process.stdout.isTTY) print(NO_COMMAND);
  if (name === "" || name.startsWith("-")) return COMMANDS.serve(args);
  console.error(`fermata: ${unknownCommand(name)}; see "fermata --help".`);
  return 2;
}

/** For people only: programs read the first line of a server. */
const NO_COMMAND = `Without a command, fermata starts a server; for others: fermata --help\n`;

/** Other tools take a directory as their first word. */
function unknownCommand(name: string): string {
  const meant = didYouMean(name, [...Object.keys(COMMANDS), "help", "version"]);
  const isFolder = meant === "" && existsSync(name);
  const how = isFolder ? `; to serve that directory: fermata --workspace "${name}"` : meant;
  return `there is no command "${name}"${how}`;
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
