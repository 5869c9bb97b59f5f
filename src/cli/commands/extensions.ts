import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type CheckFault, checkExtension, type ExtensionCheck } from "../../extension/check.ts";
import {
  type KnownExtension,
  knownExtensions,
} from "../../extension/discovery/known-extensions.ts";
import type { StoredSlot } from "../../extension/slot.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { canonical } from "../../platform/folder.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { expectedWord } from "../command-line.ts";
import { homeOf } from "../home.ts";
import { tableText, version } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import {
  codeFolders,
  faultText,
  type OperatorExtensions,
  readExtensions,
} from "../serve/extensions.ts";
import { readServeOptions } from "../serve/read-options.ts";
import { EXTENSIONS } from "../table/agents.ts";
import { type CommandOutput, runCommand, wrong } from "./data-command.ts";
import { newExtension } from "./skeleton.ts";

type ExtensionsFlags = RowValues<typeof EXTENSIONS>;

/** Shows extensions to operators, and helps authors with theirs. */
export function extensions(args: readonly string[]): Promise<number> {
  return runCommand({ row: EXTENSIONS, read }, args);
}

type ExtensionsAction = () => Promise<Result<CommandOutput>>;

interface Part {
  /** What its one word is; null if it takes none. */
  readonly word: string | null;
  readonly flags: readonly (keyof ExtensionsFlags)[];
  act(flags: ExtensionsFlags, word: string): Promise<Result<CommandOutput>>;
}

const PARTS: Readonly<Record<string, Part>> = {
  list: { word: null, flags: ["workspace", "extension-config", "json"], act: list },
  new: {
    word: "NAME",
    flags: ["typescript"],
    act: ({ typescript }, name) => newExtension(name, typescript === true),
  },
  check: { word: "PATH", flags: ["config", "slot", "json"], act: check },
};

function read(
  flags: ExtensionsFlags,
  [name = "", word, extra]: readonly string[],
): Result<ExtensionsAction> {
  const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  if (part === undefined) return wrong(expectedWord(name || undefined, "list, new or check"));
  const foreign = Object.keys(flags).find((flag) => !part.flags.some((own) => own === flag));
  if (foreign !== undefined) return wrong(`--${foreign} is not for "${name}"`);
  if (part.word !== null && word === undefined) return wrong(`expected ${name} ${part.word}`);
  const tooMuch = part.word === null ? word : extra;
  if (tooMuch !== undefined) return wrong(`"${tooMuch}" is too much`);
  return ok(() => part.act(flags, word ?? ""));
}

/** What a server with the same options would find. */
async function list({ workspace, json, ...named }: ExtensionsFlags) {
  const flags = Object.entries({ workspace, "extension-config": named["extension-config"] });
  const args = flags.flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const options = await readServeOptions(args, process.env);
  if (!options.ok) return options;
  const found = await readExtensions(options.value, process.env);
  if (!found.ok) return found;
  const folders = codeFolders(options.value);
  const all: KnownExtension[] = [];
  for (const folder of folders.length === 0 ? [null] : folders) {
    const more = await knownExtensions(found.value, folder);
    all.push(...more.filter((one) => !all.some((other) => isDeepStrictEqual(one, other))));
  }
  const notices = folders.length > 0 ? [] : [NO_WORKSPACE];
  if (json) return ok({ shown: jsonText(all.map((one) => entryOf(one, found.value))), notices });
  const rows = all.map((one) => [
    one.id,
    one.manifest?.version ?? "-",
    one.manifest?.kind ?? "-",
    one.source ?? "-",
    TRUST_WORDS[one.trust],
    stateOf(one),
  ]);
  const head = ["EXTENSION", "VERSION", "KIND", "FROM", "CODE", "STATE"];
  const faults = all.filter(({ why, isEnabled }) => why !== null && isEnabled);
  const lines = faults.map((one) => `${one.id}: ${faultText(one, found.value)}`);
  return ok({ shown: [tableText(head, rows), ...lines].join("\n\n"), notices });
}

const NO_WORKSPACE = "with these options no server loads extensions of a workspace";

const TRUST_WORDS: Readonly<Record<KnownExtension["trust"], string>> = {
  bundled: "bundled",
  trusted: "trusted",
  changed: "changed",
  untrusted: "not trusted",
  unknown: "-",
};

function stateOf({ isEnabled, isCritical, why }: KnownExtension): string {
  if (!isEnabled) return "off";
  if (why !== null) return "not loaded";
  return isCritical ? "on, critical" : "on";
}

function entryOf(one: KnownExtension, operator: OperatorExtensions) {
  const { id, source, folder, manifest, trust, isEnabled, isCritical, why } = one;
  return {
    ...{ id, version: manifest?.version ?? null, kind: manifest?.kind ?? null },
    ...{ from: source, folder, code: trust, enabled: isEnabled, critical: isCritical },
    ...{ loaded: isEnabled && why === null },
    ...(why !== null && { fault: { code: why.code, text: faultText(one, operator) } }),
  };
}

/** Says what is wrong with an extension; it fails if anything is. */
async function check(
  { config: said = "{}", slot: file, json }: ExtensionsFlags,
  path: string,
): Promise<Result<CommandOutput>> {
  const config = configIn(said);
  if (!config.ok) return config;
  const slot = file === undefined ? ok(null) : await slotIn(file);
  if (!slot.ok) return slot;
  const folder = await canonical(resolve(path));
  const options = { coreVersion: version(), home: homeOf(process.env) };
  const about = { config: config.value, slot: slot.value };
  const checked = await checkExtension(folder, { ...options, ...about });
  const { faults, notices } = checked;
  const exitCode = faults.length === 0 ? 0 : 1;
  if (json) return ok({ shown: jsonText({ folder, fits: exitCode === 0, ...checked }), exitCode });
  return ok({ shown: checkText(checked), notices, exitCode });
}

function checkText({ id, version: number, faults }: ExtensionCheck): string {
  if (faults.length > 0) return faults.map(faultLine).join("\n");
  return `${id} ${number}: it comes up, its hooks answer, and it goes down`;
}

function faultLine({ file, field, reason, remedy }: CheckFault): string {
  return `${[file, field, reason].filter(Boolean).join(": ")}. What to do: ${remedy}`;
}

function configIn(text: string): Result<JsonObject> {
  const { value, fault } = parseJson(text);
  if (isObject(value)) return ok(value);
  const reason = fault ?? "it must be an object";
  return fail("invalid_request", { reason: `--config: ${reason}` });
}

async function slotIn(file: string): Promise<Result<StoredSlot>> {
  const refused = (reason: string) => fail("invalid_request", { reason: `${file}: ${reason}` });
  try {
    const { value, fault } = parseJson(await readFile(file, "utf8"));
    if (fault !== undefined) return refused(fault);
    const number = isObject(value) ? stringAt(value, "version") : null;
    if (!isObject(value) || number === null || value.value === undefined) {
      return refused('it must be {"version": "1.0.0", "value": ...}');
    }
    // What was parsed is plain data.
    return ok({ version: number, value: JSON.parse(JSON.stringify(value.value)) });
  } catch (thrown) {
    return refused(fileFault(thrown));
  }
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
