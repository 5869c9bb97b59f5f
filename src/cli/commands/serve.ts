import { detect } from "../../agent/process/spawn.ts";
import { errorBody, type Refusal } from "../../core/error.ts";
import { agentProfiles, homeOf } from "../home.ts";
import { version } from "../output.ts";
import { chooseOptions, OPTION_NAMES, OPTIONS, variableOf } from "../serve/options.ts";
import { startServer } from "../serve/server.ts";

const USAGE = `Usage: fermata serve [options]

Serves sessions over HTTP and Server-Sent Events until it is told to stop
(Ctrl-C, or SIGTERM): then turns may finish; told again, it stops at once.

Each option can also be set by a variable (${variableOf("max-sessions")} for
--max-sessions) or under its name in config.json in ~/.fermata. A flag counts
before the variable, and that before the file.

Options (in parentheses what is usual):
`;

export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(USAGE + optionLines());
    return 0;
  }
  const chosen = await chooseOptions(args, process.env);
  if (!chosen.ok) return told(chosen.refusal, 2);
  const signals = new Signals();
  // Whoever has read the line that it listens may leave: the server has others to serve.
  process.stdout.removeAllListeners("error").on("error", () => {});
  const started = await startServer(chosen.value, process.env, version());
  if (!started.ok) {
    return told(started.refusal, started.refusal.code === "invalid_server_config" ? 2 : 1);
  }
  const { url, defaultAgent } = started.value;
  process.stdout.write(`fermata ${version()} listening on ${url} (agent: ${defaultAgent})\n`);
  if (defaultAgent === "echo" && chosen.value.agent === null) await tellOfOthers();
  await signals.first;
  await started.value.stop(signals.hurry);
  return 0;
}

/**
 * The first signal ends the server in order, the second in a hurry, and the third at once. They
 * are listened for before it starts, so that none is missed.
 */
class Signals {
  readonly first: Promise<void>;
  readonly #hurry = new AbortController();
  #count = 0;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.first = promise;
    const told = () => {
      this.#count += 1;
      if (this.#count === 1) resolve();
      else if (this.#count === 2) this.#hurry.abort();
      else process.exit(130);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, told);
  }

  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }
}

/** `echo` is for a first try; whoever has a real agent is told how to get at it. */
async function tellOfOthers(): Promise<void> {
  const profiles = await agentProfiles(homeOf(process.env));
  const all = profiles.ok ? await detect(profiles.value.values(), process.env) : [];
  const others = all.filter(({ profile, path }) => path !== null && profile.name !== "echo");
  const names = others.map(({ profile }) => profile.name);
  const more = names.length === 0 ? "see: fermata agents" : `installed: ${names.join(", ")}`;
  process.stdout.write(
    `echo says back what it is told; for another agent, --agent NAME (${more})\n`,
  );
}

function optionLines(): string {
  const lines = OPTION_NAMES.map((name) => {
    const { placeholder, help } = OPTIONS[name];
    const flag = placeholder === null ? `--${name}` : `--${name} ${placeholder}`;
    return `  ${flag}\n        ${help}\n`;
  });
  return lines.join("");
}

function told(refusal: Refusal, exitCode: number): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  if (exitCode === 2) console.error('fermata: run "fermata serve --help" to see all options.');
  return exitCode;
}
