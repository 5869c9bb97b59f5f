import { existsSync } from "node:fs";
import { didYouMean } from "../core/spelling.ts";
import { enterCallersFolder } from "./caller.ts";
import { version } from "./output.ts";
import { asksForHelp } from "./parse-row.ts";
import { type CommandName, commandWords, type KnownRow, rowOf } from "./table/table.ts";

type CommandMain = (args: readonly string[]) => Promise<number>;

/** Each command loads its own module: the server is large, and `--version` must be quick. */
const COMMANDS: Readonly<Record<CommandName, CommandMain>> = {
  agents: async (args) => (await import("./commands/agents.ts")).agents(args),
  approve: async (args) => (await import("./commands/session/asks.ts")).approve(args),
  asks: async (args) => (await import("./commands/session/asks.ts")).asks(args),
  audit: async (args) => (await import("./commands/audit.ts")).audit(args),
  backup: async (args) => (await import("./commands/backup.ts")).backup(args),
  cancel: async (args) => (await import("./commands/session/at-work.ts")).cancel(args),
  close: async (args) => (await import("./commands/session/care.ts")).close(args),
  completion: async (args) => (await import("./completion.ts")).completion(args),
  context: async (args) => (await import("./commands/sign-in.ts")).context(args),
  credits: async (args) => (await import("./commands/credits.ts")).credits(args),
  deny: async (args) => (await import("./commands/session/asks.ts")).deny(args),
  export: async (args) => (await import("./commands/session/care.ts")).exportSession(args),
  extensions: async (args) => (await import("./commands/extensions.ts")).extensions(args),
  fork: async (args) => (await import("./commands/session/care.ts")).fork(args),
  join: async (args) => (await import("./commands/join.ts")).join(args),
  login: async (args) => (await import("./commands/sign-in.ts")).login(args),
  logs: async (args) => (await import("./commands/session/logs.ts")).logs(args),
  ls: async (args) => (await import("./commands/session/ls.ts")).ls(args),
  members: async (args) => (await import("./commands/members.ts")).members(args),
  missing: async (args) => (await import("./commands/upkeep.ts")).missing(args),
  new: async (args) => (await import("./commands/session/create.ts")).newSession(args),
  policy: async (args) => (await import("./commands/policy.ts")).policy(args),
  prices: async (args) => (await import("./commands/prices.ts")).prices(args),
  queue: async (args) => (await import("./commands/session/at-work.ts")).queue(args),
  reindex: async (args) => (await import("./commands/upkeep.ts")).reindex(args),
  rename: async (args) => (await import("./commands/session/care.ts")).rename(args),
  repair: async (args) => (await import("./commands/stored-sessions.ts")).repair(args),
  restart: async (args) => (await import("./commands/server-life.ts")).restart(args),
  restore: async (args) => (await import("./commands/backup.ts")).restore(args),
  rm: async (args) => (await import("./commands/session/care.ts")).rm(args),
  run: async (args) => (await import("./commands/session/run.ts")).run(args),
  seize: async (args) => (await import("./commands/stored-sessions.ts")).seize(args),
  send: async (args) => (await import("./commands/session/send.ts")).send(args),
  serve: async (args) => (await import("./commands/serve.ts")).serve(args),
  show: async (args) => (await import("./commands/session/show.ts")).show(args),
  status: async (args) => (await import("./commands/server-life.ts")).status(args),
  stop: async (args) => (await import("./commands/server-life.ts")).stop(args),
  tenants: async (args) => (await import("./commands/tenants.ts")).tenants(args),
  tokens: async (args) => (await import("./commands/tokens.ts")).tokens(args),
  trust: async (args) => (await import("./commands/trust.ts")).trust(args),
  vacuum: async (args) => (await import("./commands/upkeep.ts")).vacuum(args),
  wait: async (args) => (await import("./commands/session/at-work.ts")).wait(args),
  workflows: async (args) => (await import("./commands/workflows.ts")).workflows(args),
};

/** Runs the command line and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.off("error", exitOnClosedPipe).on("error", exitOnClosedPipe);
  enterCallersFolder(process.env);
  const [name = "", ...rest] = args;
  const row = rowOf(name);
  if (row !== null) return runRow(row, rest);
  // For the scripts of shells, and so in no list.
  if (name === "__complete") return (await import("./completion.ts")).complete(rest);
  const explained = name === "help" ? rowOf(rest[0] ?? "") : null;
  if (explained !== null) return explain(explained);
  if (["--help", "-h", "help"].includes(name)) {
    return print((await import("./table/help.ts")).overview());
  }
  if (["--version", "-V", "version"].includes(name)) return print(`${version()}\n`);
  if (name === "" && process.stdout.isTTY) print(NO_COMMAND);
  if (name === "") return COMMANDS.serve(args);
  const serve = rowOf("serve");
  if (name.startsWith("-") && serve !== null) return runRow(serve, args);
  console.error(`fermata: ${unknownCommand(name)}; see "fermata --help".`);
  return 2;
}

function runRow(row: KnownRow, args: readonly string[]): Promise<number> {
  return asksForHelp(args) ? explain(row) : COMMANDS[row.name](args);
}

async function explain(row: KnownRow): Promise<number> {
  return print(await (await import("./table/help.ts")).helpOf(row));
}

/** For people only: programs read the first line of a server. */
const NO_COMMAND = `Without a command, fermata starts a server; for others: fermata --help\n`;

/** Other tools take a directory as their first word. */
function unknownCommand(name: string): string {
  const meant = didYouMean(name, [...commandWords(), "help", "version"]);
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
