import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isObject } from "../../core/json.ts";
import { AGENT_MEMORY_MB_MAX, OPTION_MS_MAX, VERDICT_HELD_MS_MAX } from "../../core/limits.ts";
import { MEDIATION_POLICIES } from "../../core/policy/ask.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { homeOf } from "../home.ts";
import { STORE_NAMES } from "./store.ts";

const count = (help: string, most = 1_000_000) => whole(0, most, { help });
const ms = (help: string, variables: readonly string[] = []) =>
  whole(0, OPTION_MS_MAX, { help, placeholder: "MS", variables });
const some = (help: string) => whole(1, OPTION_MS_MAX, { help, placeholder: "MS" });
const bytes = (help: string, most: number) => whole(1, most, { help, placeholder: "BYTES" });

/**
 * Everything that can be chosen about a server. The name is the flag, and in capitals behind
 * FERMATA_ the variable, and as it is the key in the file.
 */
export const OPTIONS = {
  // Where it listens, and to whom
  hostname: text({ help: "Address to listen on (127.0.0.1)", placeholder: "HOST" }),
  port: whole(0, 65_535, { help: "Port; 0 takes any that is free (4170)", placeholder: "PORT" }),
  token: text({
    help: "Token of the operator; beyond this machine one is needed, or `fermata tokens`",
    variables: ["QWEN_SERVER_TOKEN"],
  }),
  "jwt-jwks": text({
    help: "Take JWTs (RS256, ES256) that these keys have signed, beside tokens",
    placeholder: "FILE|URL",
  }),
  "jwt-issuer": text({ help: "Who must have issued them", placeholder: "NAME" }),
  "jwt-audience": text({ help: "Whom they must be meant for", placeholder: "NAME" }),
  "jwt-tenant-claim": text({
    help: "Where they name the tenant (tenant_id)",
    placeholder: "CLAIM",
  }),
  "jwt-role-claim": text({ help: "And the role (role)", placeholder: "CLAIM" }),
  "require-auth": toggle({ help: "Want the token for /health on this machine too" }),
  "allow-origin": texts({ help: "Web origin that may call; may be repeated", placeholder: "URL" }),
  "trusted-proxy": texts({
    help: "Proxy whose X-Forwarded-For is believed; may be repeated",
    placeholder: "ADDRESS",
  }),
  "max-connections": count("Connections at a time; 0 is no limit (256)", 65_536),
  "tls-cert": text({ help: "Certificate, to serve https", placeholder: "FILE" }),
  "tls-key": text({ help: "Its key", placeholder: "FILE" }),
  "rate-limit": toggle({ help: "Limit how often callers may ask" }),
  "rate-limit-prompt": whole(1, 1_000_000, { help: "Prompts in a window (10)" }),
  "rate-limit-mutation": whole(1, 1_000_000, { help: "Other changes in a window (30)" }),
  "rate-limit-read": whole(1, 1_000_000, { help: "Reads in a window (120)" }),
  "rate-limit-window-ms": some("Length of that window (60000)"),

  // Sessions
  workspace: texts({
    help: "Directory that sessions work in; may be repeated, the first is the usual one (.)",
    placeholder: "DIR",
  }),
  "workspace-root": texts({
    help: "Directory below which tenants may add workspaces; may be repeated (anywhere)",
    placeholder: "DIR",
  }),
  untrusted: toggle({
    help: "Take no skills or persona from the workspaces until they are trusted",
  }),
  "session-scope": choice(["single", "thread"], "single", {
    help: "One shared session for each workspace, or a new one each time (single)",
  }),
  "max-sessions": count("Live sessions of a workspace; 0 is no limit (20)"),
  "max-pending-prompts-per-session": count("Prompts without a verdict; 0 is no limit (5)", 1_000),
  "prompt-deadline-ms": ms("Longest time that a prompt may take (none)", [
    "QWEN_SERVE_PROMPT_DEADLINE_MS",
  ]),
  "session-idle-timeout-ms": ms("Let a session go that is unused for so long; 0 never (1800000)"),
  "session-reap-interval-ms": ms("How often that is looked at (60000)"),
  "session-restore-timeout-ms": some("Longest time to bring a session back (60000)"),
  "permission-policy": choice(MEDIATION_POLICIES, "first-responder", {
    help: "Who decides what agents ask for (first-responder)",
  }),
  "consensus-quorum": whole(1, 256, { help: "Votes that decide under `consensus` (a majority)" }),
  "permission-response-timeout-ms": ms("Time to decide; 0 is as long as you like (300000)"),
  "enable-session-shell": toggle({ help: "Let clients run commands; needs a token" }),

  // What is kept, and shown
  "verdict-lead-ms": whole(0, VERDICT_HELD_MS_MAX, {
    help: "How long a verdict follows the answer to its prompt at the earliest (5)",
    placeholder: "MS",
  }),
  "event-ring-size": whole(1, 1_000_000, { help: "Events kept for exact reconnects (8000)" }),
  "compacted-replay-max-bytes": bytes("Finished turns shown on load (4194304)", 268_435_456),
  "max-journal-events": whole(1, 1_000_000, { help: "Events of an open turn on load (10000)" }),
  "max-journal-bytes": bytes("And their size (8388608)", 268_435_456),
  "writer-idle-timeout-ms": ms("Cut a stream that takes nothing for so long (never)", [
    "QWEN_SERVE_WRITER_IDLE_TIMEOUT_MS",
  ]),

  // Agents
  agent: text({ help: 'Agent of new sessions; see "fermata agents"', placeholder: "NAME" }),
  "agent-command": text({
    help: "Command line of an agent that speaks ACP, in place of a name",
    placeholder: "COMMAND",
  }),
  preheat: toggle({ help: "Start the agent before the first session wants it" }),
  "initialize-timeout-ms": some("Longest time for an agent's answers to calls (10000)"),
  "channel-idle-timeout-ms": ms("How long an unused agent process is kept (300000)"),
  "agent-memory-max-mb": whole(0, AGENT_MEMORY_MB_MAX, {
    help: "Memory of all agents together; 0 is no limit (half of the machine's)",
    placeholder: "MIB",
  }),
  "mcp-config": text({
    help: "File that names MCP servers (~/.fermata/mcp.json)",
    placeholder: "FILE",
  }),

  // What turns cost
  prices: text({
    help: "File with what models and agents cost, before the usual prices",
    placeholder: "FILE",
  }),
  "tenant-credits": choice(["granted", "unlimited"], "granted", {
    help: "What tenants beside `local` may spend where nobody has said so (granted)",
  }),

  // Where it remembers
  store: choice(STORE_NAMES, "sqlite", { help: "Where sessions are kept (sqlite)" }),
  data: text({ help: "Directory of sessions and marks (~/.fermata)", placeholder: "DIR" }),
  durability: choice(["full", "relaxed"], "full", {
    help: "`relaxed` is faster and may lose the last moments in a power cut (full)",
  }),
  config: text({
    help: "Read options from this file (~/.fermata/config.json)",
    placeholder: "FILE",
  }),
  "log-level": choice(["debug", "info", "warn", "error", "silent"], "info", {
    help: "How much is logged, as JSON lines on the error output (info)",
  }),
} as const;

export type OptionName = keyof typeof OPTIONS;

/** What was chosen, with its usual value where nothing was. */
export type Chosen = {
  readonly [Name in OptionName]: (typeof OPTIONS)[Name] extends Option<infer Value> ? Value : never;
};

export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTIONS).filter(isOptionName);

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

/** The variable of this name: `max-sessions` is FERMATA_MAX_SESSIONS. */
export function variableOf(name: OptionName): string {
  return `FERMATA_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** One thing that can be chosen about a server: by flag, environment or file, under one name. */
export interface Option<Value> {
  readonly help: string;
  /** What stands behind the flag in the help; none for a switch. */
  readonly placeholder: string | null;
  /** Whether it may be given several times. */
  readonly isList: boolean;
  /** Variables that other servers of this kind read, beside our own. */
  readonly variables: readonly string[];
  readonly usual: Value;
  /** Reads what was given; throws a sentence that follows a colon if it makes no sense. */
  read(given: unknown): Value;
}

interface About {
  readonly help: string;
  readonly placeholder?: string;
  readonly variables?: readonly string[];
}

/** A text, or null where none was given. */
function text(about: About): Option<string | null> {
  return { ...named(about, "TEXT"), usual: null, read: readText };
}

function texts(about: About): Option<readonly string[]> {
  const read = (given: unknown) => (Array.isArray(given) ? given : [given]).map(readText);
  return { ...named(about, "TEXT"), isList: true, usual: [], read };
}

function choice<const Word extends string, Usual extends Word | null>(
  words: readonly Word[],
  usual: Usual,
  about: About,
): Option<Word | Usual> {
  const read = (given: unknown) => {
    const found = words.find((word) => word === given);
    if (found === undefined) throw new Error(`it is one of ${words.join(", ")}`);
    return found;
  };
  return { ...named(about, words.join("|")), usual, read };
}

/** On or off; as a flag, being there is on. */
function toggle(about: About): Option<boolean> {
  const read = (given: unknown) => {
    const value = SWITCHED.get(String(given));
    if (value === undefined) throw new Error("it is true or false");
    return value;
  };
  return { ...named(about, ""), placeholder: null, usual: false, read };
}

/** A whole number within bounds; null where none was given. */
function whole(least: number, most: number, about: About): Option<number | null> {
  const read = (given: unknown) => {
    const value = typeof given === "string" && /^\d+$/.test(given) ? Number(given) : given;
    const isFit = typeof value === "number" && Number.isSafeInteger(value);
    if (!isFit || value < least || value > most) {
      throw new Error(`it is a whole number from ${least} to ${most}`);
    }
    return value;
  };
  return { ...named(about, "N"), usual: null, read };
}

const SWITCHED: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

function named({ help, placeholder, variables = [] }: About, usual: string) {
  return { help, placeholder: placeholder ?? usual, isList: false, variables };
}

function readText(given: unknown): string {
  if (typeof given !== "string" || given.trim() === "") throw new Error("it is empty");
  return given;
}

/** What one source says, by option, with where it says so. */
type Source = ReadonlyMap<string, { readonly given: unknown; readonly where: string }>;

/**
 * What a person chose about the server. A flag counts before the environment, and that before the
 * file. What makes no sense is refused with the place where it stands.
 */
export async function chooseOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Result<Chosen>> {
  const flags = fromFlags(args);
  if (!flags.ok) return flags;
  const variables = fromEnvironment(env);
  const said = flags.value.get("config") ?? variables.get("config");
  const file = await fromFile(said === undefined ? null : String(said.given), env);
  if (!file.ok) return file;
  return chosenFrom([flags.value, variables, file.value]);
}

function fromFlags(args: readonly string[]): Result<Source> {
  const source = new Map<string, { given: unknown; where: string }>();
  const options = Object.fromEntries(
    OPTION_NAMES.map((name) => {
      const { placeholder, isList } = OPTIONS[name];
      return [
        name,
        { type: placeholder === null ? "boolean" : "string", multiple: isList } as const,
      ];
    }),
  );
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowNegative: true });
    for (const [name, given] of Object.entries(values))
      source.set(name, { given, where: `--${name}` });
    return ok(source);
  } catch (thrown) {
    const [reason] = (thrown instanceof Error ? thrown.message : String(thrown)).split(". ");
    return fail("invalid_server_config", { path: "command line", reason: reason ?? "" });
  }
}

function fromEnvironment(env: NodeJS.ProcessEnv): Source {
  const source = new Map<string, { given: unknown; where: string }>();
  for (const name of OPTION_NAMES) {
    const { variables, isList } = OPTIONS[name];
    const variable = [variableOf(name), ...variables].find((one) => env[one]?.trim());
    const value = variable === undefined ? undefined : env[variable]?.trim();
    if (variable === undefined || value === undefined) continue;
    source.set(name, {
      given: isList ? value.split(",").map((one) => one.trim()) : value,
      where: variable,
    });
  }
  return source;
}

/** The usual file need not be there; one that was named has to be. */
async function fromFile(named: string | null, env: NodeJS.ProcessEnv): Promise<Result<Source>> {
  const path = named ?? join(homeOf(env), "config.json");
  const wrong = (reason: string) => fail("invalid_server_config", { path, reason });
  let config: unknown;
  try {
    config = JSON.parse(await readFile(path, "utf8"));
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    if (isMissing && named === null) return ok(new Map());
    return wrong(thrown instanceof Error ? thrown.message : String(thrown));
  }
  if (!isObject(config)) return wrong("it holds no object");
  const unknown = Object.keys(config).find((name) => !isOptionName(name) || name === "config");
  if (unknown !== undefined) return wrong(`"${unknown}" is no option; see fermata serve --help`);
  const entries = Object.entries(config);
  return ok(
    new Map(entries.map(([name, given]) => [name, { given, where: `${name} in ${path}` }])),
  );
}

function chosenFrom(sources: readonly Source[]): Result<Chosen> {
  const chosen: Record<string, unknown> = {};
  for (const name of OPTION_NAMES) {
    const option: Option<unknown> = OPTIONS[name];
    const said = sources.map((source) => source.get(name)).find((one) => one !== undefined);
    try {
      chosen[name] = said === undefined ? option.usual : option.read(said.given);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return fail("invalid_server_config", { path: said?.where ?? name, reason });
    }
  }
  // Every option has been read by its own rule just now.
  return ok(chosen as Chosen);
}
