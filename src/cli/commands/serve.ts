import { detect } from "../../agent/process/spawn.ts";
import { errorBody, type Refusal } from "../../core/error.ts";
import { agentProfiles, homeOf } from "../home.ts";
import { version } from "../output.ts";
import { OPTION_NAMES, OPTIONS, readServeOptions, variableOf } from "../serve/options.ts";
import { startServer } from "../serve/server.ts";

const USAGE = `Usage: fermata serve [options]

Serves sessions over HTTP and Server-Sent Events. After Ctrl-C or SIGTERM it lets
turns finish and stops; after a second one it stops at once.

Each option can also be set by a variable (${variableOf("max-sessions")} for
--max-sessions) or under its name in config.json in ~/.fermata. A flag overrides
the variable, and the variable overrides the file.

Options (defaults in parentheses):
`;

export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(USAGE + optionLines());
    return 0;
  }
  const options = await readServeOptions(args, process.env);
  if (!options.ok) return printFailure(options.refusal, 2);
  const signals = new Signals();
  // The program that reads the first line may close the output; the server goes on.
  process.stdout.removeAllListeners("error").on("error", () => {});
  const started = await startServer(options.value, process.env, version());
  if (!started.ok) {
    return printFailure(started.refusal, started.refusal.code === "invalid_server_config" ? 2 : 1);
  }
  const { url, defaultAgent } = started.value;
  process.stdout.write(`fermata ${version()} listening on ${url} (agent: ${defaultAgent})\n`);
  if (defaultAgent === "echo" && options.value.agent === null) await printOtherAgents();
  await signals.first;
  await started.value.stop(signals.hurry);
  return 0;
}

/**
 * The first signal stops the server after its turns, the second without waiting for them, and the
 * third ends the process. The handlers are set before the server starts, so that none is missed.
 */
class Signals {
  readonly first: Promise<void>;
  readonly #hurry = new AbortController();
  #count = 0;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.first = promise;
    const onSignal = () => {
      this.#count += 1;
      if (this.#count === 1) resolve();
      else if (this.#count === 2) this.#hurry.abort();
      else process.exit(130);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, onSignal);
  }

  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }
}

/** `echo` is only for a first try, so the line names the agents that are installed. */
async function printOtherAgents(): Promise<void> {
  const profiles = await agentProfiles(homeOf(process.env));
  const all = profiles.ok ? await detect(profiles.value.values(), process.env) : [];
  const others = all.filter(({ profile, path }) => path !== null && profile.name !== "echo");
  const names = others.map(({ profile }) => profile.name);
  const more = names.length === 0 ? "see: fermata agents" : `installed: ${names.join(", ")}`;
  process.stdout.write(`echo repeats each prompt; for another agent use --agent NAME (${more})\n`);
}

function optionLines(): string {
  const lines = OPTION_NAMES.map((name) => {
    const { placeholder, help } = OPTIONS[name];
    const flag = placeholder === null ? `--${name}` : `--${name} ${placeholder}`;
    return `  ${flag}\n        ${help}\n`;
  });
  return lines.join("");
}

function printFailure(refusal: Refusal, exitCode: number): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  if (exitCode === 2) console.error('fermata: "fermata serve --help" lists all options.');
  return exitCode;
}
