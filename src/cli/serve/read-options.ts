import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { didYouMean, nearestName } from "../../core/spelling.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { readCommandLine } from "../command-line.ts";
import { homeOf, isMissingFile, messageOf } from "../home.ts";
import type { ServeOption } from "./option-kinds.ts";
import { isOptionName, OPTION_NAMES, OPTIONS, type ServeOptions, variableOf } from "./options.ts";

/** The raw values of one source, by option name, each with its origin for error messages. */
type Source = ReadonlyMap<string, { readonly raw: unknown; readonly origin: string }>;

/**
 * Reads the options of a server. A flag overrides the environment, and that overrides the file. A
 * malformed value is refused with its origin.
 */
export async function readServeOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Result<ServeOptions>> {
  const removed = removedOption(args, env);
  if (removed !== null) return removed;
  const flags = fromFlags(args);
  if (!flags.ok) return flags;
  const variables = fromEnvironment(env);
  const config = flags.value.get("config") ?? variables.get("config");
  const file = await fromFile(config === undefined ? null : String(config.raw), env);
  if (!file.ok) return file;
  return parseOptions([flags.value, variables, file.value]);
}

/** Options of earlier versions, and what to do about them. */
const REMOVED_OPTIONS: ReadonlyMap<string, string> = new Map([
  ["verdict-lead-ms", "the option is gone: verdicts wait for the 202 to be read; remove it"],
]);

/** Refuses an option of an earlier version with what replaced it. */
function removedOption(args: readonly string[], env: NodeJS.ProcessEnv): Result<never> | null {
  for (const [name, reason] of REMOVED_OPTIONS) {
    const isFlag = args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
    const path = isFlag ? `--${name}` : variableOf(name);
    if (isFlag || env[path]?.trim()) return fail("invalid_server_config", { path, reason });
  }
  return null;
}

function fromFlags(args: readonly string[]): Result<Source> {
  const flags = OPTION_NAMES.map((name) => {
    const { placeholder, isList, short } = OPTIONS[name];
    const type = placeholder === null ? "boolean" : "string";
    return [name, { type, multiple: isList, ...(short !== null && { short }) } as const] as const;
  });
  const wrong = (reason: string) => fail("invalid_server_config", { path: "command line", reason });
  try {
    const { values, positionals } = readCommandLine({
      args: [...args],
      // The last two have been served before; they are here for what is mistyped.
      options: { ...Object.fromEntries(flags), help: SWITCH, version: SWITCH },
      allowNegative: true,
      allowPositionals: true,
    });
    const [extra] = positionals;
    if (extra !== undefined) return wrong(`"${extra}" is no option; ${WORDS}`);
    const entries = Object.entries(values);
    return ok(new Map(entries.map(([name, raw]) => [name, { raw, origin: `--${name}` }])));
  } catch (thrown) {
    return wrong(messageOf(thrown));
  }
}

const SWITCH = { type: "boolean" } as const;

const WORDS = "a command comes first, and a directory is given as --workspace DIR";

function fromEnvironment(env: NodeJS.ProcessEnv): Source {
  const source = new Map<string, { raw: unknown; origin: string }>();
  for (const name of OPTION_NAMES) {
    const { variables, isList } = OPTIONS[name];
    const variable = [variableOf(name), ...variables].find((one) => env[one]?.trim());
    const value = variable === undefined ? undefined : env[variable]?.trim();
    if (variable === undefined || value === undefined) continue;
    const raw = isList ? value.split(",").map((one) => one.trim()) : value;
    source.set(name, { raw, origin: variable });
  }
  return source;
}

/** The variables that options are read from, because no flag overrides them. */
export function variablesUsed(args: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
  const flags = fromFlags(args);
  const given = flags.ok ? flags.value : new Map();
  const used = [...fromEnvironment(env)].filter(([name]) => !given.has(name));
  return used.map(([, { origin }]) => origin);
}

/**
 * Names that begin with FERMATA_ and are nearly one of ours, each with that one. Others are let be:
 * a system such as Kubernetes makes names of its own from that of the service.
 */
export function mistypedVariables(env: NodeJS.ProcessEnv): readonly (readonly [string, string])[] {
  const known = [...OPTION_NAMES.map(variableOf), "FERMATA_HOME", "FERMATA_URL"];
  const bare = known.map((name) => name.slice(PREFIX.length));
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(PREFIX) || known.includes(name)) return [];
    const meant = nearestName(name.slice(PREFIX.length), bare);
    return meant === null ? [] : [[name, PREFIX + meant] as const];
  });
}

const PREFIX = "FERMATA_";

/** The default file may be missing; a file that the operator names must exist. */
async function fromFile(named: string | null, env: NodeJS.ProcessEnv): Promise<Result<Source>> {
  const path = named ?? join(homeOf(env), "config.json");
  const wrong = (reason: string) =>
    fail("invalid_server_config", { path: `config file ${path}`, reason });
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    if (named === null && isMissingFile(thrown)) return ok(new Map());
    return wrong(fileFault(thrown));
  }
  const { value: config, fault } = parseJson(text);
  if (fault !== undefined) return wrong(fault);
  if (!isObject(config)) return wrong('it holds no object, such as {"port": 4170}');
  const unknown = Object.keys(config).find((name) => !isOptionName(name) || name === "config");
  const removed = unknown === undefined ? undefined : REMOVED_OPTIONS.get(unknown);
  if (removed !== undefined) return wrong(`"${unknown}": ${removed}`);
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, OPTION_NAMES);
    return wrong(`"${unknown}" is no option${hint}; see fermata serve --help`);
  }
  const entries = Object.entries(config);
  return ok(new Map(entries.map(([name, raw]) => [name, { raw, origin: `${name} in ${path}` }])));
}

function parseOptions(sources: readonly Source[]): Result<ServeOptions> {
  const values: Record<string, unknown> = {};
  for (const name of OPTION_NAMES) {
    const option: ServeOption<unknown> = OPTIONS[name];
    const found = sources.map((source) => source.get(name)).find((one) => one !== undefined);
    try {
      values[name] = found === undefined ? option.default : option.parse(found.raw);
    } catch (thrown) {
      const path = found?.origin ?? name;
      return fail("invalid_server_config", { path, reason: messageOf(thrown) });
    }
  }
  // Each value comes from its own option's parser.
  return ok(values as ServeOptions);
}
