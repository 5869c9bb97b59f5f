import { stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, objectAt } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { caseSafe, checkStore, type SessionStore } from "../../store/index.ts";
import { messageOf } from "../home.ts";
import { installedFile, packageRoot } from "../packages.ts";

/** A store that is not bundled: the operator's option names its file or its package. */
export interface StoreModule {
  readonly file: string;
  readonly store: SessionStore;
}

/** Whether `--store` names a file; otherwise it names a package. */
function isPath(name: string): boolean {
  return isAbsolute(name) || /^\.{1,2}[\\/]/.test(name) || /\.[cm]?[jt]s$/.test(name);
}

/** What is loaded of a store. */
interface StoreFiles {
  readonly file: string;
  /** Of a package, its root; of a file, the folder that it is in. */
  readonly folder: string;
  readonly isPackage: boolean;
}

/**
 * The files of the store that an option names, for the checks of what agents can write; null for a
 * bundled one, and for one that is not there, which the start refuses later.
 */
export function storeFilesOf(name: string, home: string): StoreFiles | null {
  if (BUNDLED.has(name)) return null;
  if (isPath(name)) {
    return { file: resolve(name), folder: dirname(resolve(name)), isPackage: false };
  }
  const file = packageFile(name, home);
  if (!file.ok) return null;
  return { file: file.value, folder: packageRoot(file.value), isPackage: true };
}

const PACKAGE_NAME = /^(?:@[a-z0-9._-]+\/)?[a-z0-9._-]+(?:\/[\w./-]+)?$/i;

/**
 * Loads the store that the operator has named. A package is looked for in the home of Fermata and
 * beside Fermata itself, never in the working directory: that may be a workspace, where agents
 * write.
 */
export async function loadStore(
  name: string,
  home: string,
  version: string,
): Promise<Result<StoreModule>> {
  const file = isPath(name) ? await existingFile(resolve(name)) : packageFile(name, home);
  if (!file.ok) return file;
  const loaded = await importedFrom(file.value);
  if (!loaded.ok) return loaded;
  const make: unknown = isObject(loaded.value) ? loaded.value.default : undefined;
  if (typeof make !== "function") {
    return refused(
      `${file.value} has no default export that makes a store; add one: export default () => store`,
    );
  }
  const made = await madeBy(make, file.value);
  if (!made.ok) return made;
  const fits = checkStore(made.value, version);
  if (!fits.ok) {
    const { path, reason } = fits.refusal.details;
    return refused(`${file.value} makes no store for this Fermata: ${path}: ${reason}`);
  }
  // The check has found every function and the fields that are read before the store is started.
  const store = made.value as SessionStore;
  const { storeId } = store.contract;
  if (!BUNDLED.has(storeId)) return ok({ file: file.value, store });
  return refused(
    `${file.value} calls itself "${storeId}", as a bundled store does; give it another storeId`,
  );
}

const BUNDLED: ReadonlySet<string> = new Set(["sqlite", "memory"]);

function refused(reason: string): Result<never> {
  return fail("invalid_server_config", { path: "--store", reason });
}

async function existingFile(path: string): Promise<Result<string>> {
  const found = await stat(path).catch(() => null);
  if (found?.isFile()) return ok(path);
  if (found?.isDirectory()) return refused(`${path} is a directory; name the file in it`);
  return refused(`there is no file ${path}`);
}

function packageFile(name: string, home: string): Result<string> {
  if (!PACKAGE_NAME.test(name)) {
    return refused(`"${name}" is neither sqlite, memory, a path such as ./store.js nor a package`);
  }
  const file = installedFile(name, home);
  if (file !== null) return ok(file);
  const command = `npm install --prefix ${home} ${name}`;
  const advice = `bundled are sqlite and memory; install another with: ${command}`;
  return refused(`there is no store or package "${name}"; ${advice}`);
}

async function importedFrom(file: string): Promise<Result<unknown>> {
  try {
    const loaded: unknown = await import(pathToFileURL(file).href);
    return ok({ ...Object(loaded) });
  } catch (thrown) {
    const reason = messageOf(thrown).split("\n")[0] ?? "";
    const advice = /'fermata'/.test(reason) ? "; run npm install fermata beside it" : "";
    return refused(`${file} cannot be loaded: ${reason}${advice}`);
  }
}

async function madeBy(make: unknown, file: string): Promise<Result<unknown>> {
  try {
    return ok(typeof make === "function" ? await make() : null);
  } catch (thrown) {
    return refused(`the default export of ${file} threw: ${messageOf(thrown)}`);
  }
}

/**
 * The configuration of such a store: what the operator gives by `--store-option`, and for a store
 * that has the option `path` a folder of its own in the data directory.
 */
export function moduleConfig(
  { contract }: SessionStore,
  options: readonly string[],
  folder: string,
): Result<JsonObject> {
  const known = objectAt(contract.configSchema, "properties") ?? {};
  const config: Record<string, unknown> = { active: true };
  if (Object.hasOwn(known, "path"))
    config.path = join(folder, "stores", caseSafe(contract.storeId));
  for (const option of options) {
    const [name = "", ...rest] = option.split("=");
    if (rest.length === 0) return wrongOption(`"${option}" has no value; write NAME=VALUE`);
    if (name === "active" || name === "enabled") return wrongOption(`${name} follows from --store`);
    if (!Object.hasOwn(known, name)) {
      const names = Object.keys(known).filter((one) => one !== "active" && one !== "enabled");
      return wrongOption(
        `the store has no option "${name}"; it has: ${names.join(", ") || "none"}`,
      );
    }
    config[name] = parsedAs(rest.join("="), objectAt(known, name)?.type);
  }
  return ok(config);
}

function wrongOption(reason: string): Result<never> {
  return fail("invalid_server_config", { path: "--store-option", reason });
}

/** A text of the command line as the type that the store's schema wants; the store judges it. */
function parsedAs(text: string, type: unknown): unknown {
  if (type === "boolean" && /^(?:true|false)$/.test(text)) return text === "true";
  const isNumber = (type === "integer" || type === "number") && text.trim() !== "";
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The refusal of such a store, with its name and file: it may be the author's to mend. */
export function ofModule({ file, store }: StoreModule, answer: Result<SessionStore>) {
  if (answer.ok) return answer;
  const reason = `${store.contract.storeId} (${file}): ${sentenceOf(answer.refusal)}`;
  return refused(`it does not start: ${reason}`);
}
