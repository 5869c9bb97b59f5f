import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isObject } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { homeOf } from "../home.ts";
import type { Option } from "./option.ts";
import { type Chosen, isOptionName, OPTION_NAMES, OPTIONS, variableOf } from "./options.ts";

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
