import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { agents } from "./commands/agents.ts";
import { overview } from "./overview.ts";

const USAGE = `Usage: fermata [command] [options]

Without a command it prints what this version of Fermata contains.

Commands:
  agents         List the agents that can be hosted, or try one out.

Options:
  -h, --help     Print this help.
  -V, --version  Print the version.
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  agents,
};

/** Runs the command line and returns its exit code. */
export async function main(args: string[]): Promise<number> {
  process.stdout.on("error", endQuietlyWhenReaderLeft);
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return command === undefined ? withoutCommand(args) : command(rest);
}

function withoutCommand(args: string[]): number {
  const { values, tokens } = parseArgs({
    args,
    options: OPTIONS,
    allowPositionals: true,
    strict: false, // Its own errors name no next step, so unknown arguments are looked for here.
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option" && token.name in OPTIONS && token.value === undefined) continue;
    if (token.kind === "option-terminator") continue;
    const unknown = token.kind === "option" ? token.rawName : token.value;
    console.error(`fermata: unknown argument "${unknown}"; run "fermata --help" to see them all.`);
    return 2;
  }
  if (values.help) process.stdout.write(USAGE);
  else if (values.version) process.stdout.write(`${version()}\n`);
  else process.stdout.write(overview(version()));
  return 0;
}

/** A reader such as `head` may leave early; that is its right and not an error of ours. */
function endQuietlyWhenReaderLeft(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

function version(): string {
  const manifest = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}
