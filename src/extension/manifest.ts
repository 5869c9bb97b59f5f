import { z } from "zod";
import { isObject, type JsonObject } from "../core/json.ts";
import { EXTENSION_DEPENDENCIES_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { isContractKnown, isInRange } from "../core/version.ts";
import { HOOKS, type HookName } from "./hook.ts";
import { type DataFault, plainText } from "./plain-data.ts";
import { schemaFault, valueFault } from "./schema.ts";
import { shapeFaults } from "./shape-fault.ts";

/** The version of the contract in contract.ts. */
export const EXTENSION_CONTRACT_VERSION = "1.0.0";

/** How many of a kind there may be: loaded in a server, and active in one session. */
interface Cardinality {
  readonly loaded: "unlimited";
  readonly active: "unlimited" | "one";
}

/**
 * What is loaded into a server. A store is loaded by its operator alone, and a workflow is a state
 * machine, of which a session has one.
 */
const KINDS = {
  extension: { loaded: "unlimited", active: "unlimited" },
  store: { loaded: "unlimited", active: "one" },
  workflow: { loaded: "unlimited", active: "one" },
} as const satisfies Readonly<Record<string, Cardinality>>;

type ExtensionKind = keyof typeof KINDS;

/** What a slot's owner wants if the stored one is of another version of its shape. */
const DRIFT_POLICIES = ["migrate", "warn", "reject"] as const;

/** What an extension says of the state that it keeps. */
export interface SlotDeclaration {
  /** Of the slot's shape, as its owner counts it. */
  readonly slotVersion: string;
  readonly schema: JsonObject;
  readonly driftPolicy: (typeof DRIFT_POLICIES)[number];
}

/** When changed code may take the place of the old: at the next stage, after the turn, or never. */
const RELOAD_BEHAVIORS = ["in-turn", "between-turns", "never"] as const;

/** What an extension says of itself, in its `extension.json`. */
export interface ExtensionManifest {
  readonly id: string;
  readonly kind: ExtensionKind;
  readonly version: string;
  readonly contractVersion: string;
  readonly requiredCoreVersion: string;
  /** Its module, relative to the manifest. */
  readonly main: string;
  readonly description: string;
  /** Ranges of versions, by the ids of the others. */
  readonly dependsOn: Readonly<Record<string, string>>;
  readonly configSchema: JsonObject;
  /** Null keeps nothing across a resume. */
  readonly stateSlot: SlotDeclaration | null;
  readonly reloadBehavior: (typeof RELOAD_BEHAVIORS)[number];
  /** What it decides with; the others are not asked of it. */
  readonly hooks: readonly HookName[];
  /** Types of events that it is told, and decides nothing by. */
  readonly events: readonly string[];
}

/** It names a folder and a slot, so it is plain; dots are left to the slots of the server. */
export const EXTENSION_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const ID_RULE = "it must have small letters, digits and dashes, at most 64";

/** A file beside the manifest or below it; nothing above. */
const MAIN = /^(?!.*\.\.)[\w@-][\w@./-]{0,255}\.(?:m?js|m?ts)$/;

const VERSION_TEXT = z.string().max(64);
const WORDS_MAX = 64;

const SHAPE = z.strictObject({
  $schema: z.string().optional(),
  id: z.string().regex(EXTENSION_ID, ID_RULE),
  kind: z.enum(["extension", "store", "workflow"]),
  version: VERSION_TEXT,
  contractVersion: VERSION_TEXT,
  requiredCoreVersion: z.string().max(256),
  main: z.string().regex(MAIN, "it must be a .js or .ts file in the extension's own folder"),
  description: z.string().max(1_024).default(""),
  dependsOn: z.record(z.string().regex(EXTENSION_ID, ID_RULE), z.string().max(256)).default({}),
  configSchema: z
    .custom<JsonObject>(isObject, "it must be an object")
    .default({ type: "object", additionalProperties: false }),
  loadedCardinality: z.enum(["unlimited", "one"]).optional(),
  activeCardinality: z.enum(["unlimited", "one"]).optional(),
  stateSlot: z
    .strictObject({
      slotVersion: VERSION_TEXT,
      schema: z.custom<JsonObject>(isObject, "it must be an object"),
      driftPolicy: z.enum(DRIFT_POLICIES),
    })
    .nullable()
    .default(null),
  reloadBehavior: z.enum(RELOAD_BEHAVIORS).default("between-turns"),
  hooks: z.array(z.enum(HOOKS)).max(HOOKS.length).default([]),
  events: z.array(z.string().min(1).max(64)).max(WORDS_MAX).default([]),
});

/**
 * Reads a manifest, in this order: its shape, the version of the contract, that of Fermata, the
 * schemas. An extension that does not pass is not loaded in part.
 */
export function readExtensionManifest(
  value: unknown,
  coreVersion: string,
): Result<ExtensionManifest> {
  const { manifest, faults } = judged(value, coreVersion);
  const [first] = faults;
  if (first === undefined && manifest !== null) return ok(manifest);
  const extension = isObject(value) && typeof value.id === "string" ? value.id.slice(0, 64) : "?";
  const path = first?.path || "its manifest";
  return fail("invalid_extension", { extension, path, reason: first?.reason ?? "" });
}

/** All that is wrong with a manifest, for its author. */
export function manifestFaults(value: unknown, coreVersion: string): readonly DataFault[] {
  return judged(value, coreVersion).faults;
}

function judged(value: unknown, coreVersion: string) {
  const read = SHAPE.safeParse(value);
  if (!read.success) {
    return { manifest: null, faults: shapeFaults(read.error, Object.keys(SHAPE.shape)) };
  }
  const { $schema: _, loadedCardinality, activeCardinality, ...manifest } = read.data;
  const cardinality = { loaded: loadedCardinality, active: activeCardinality };
  const found = [
    versionFault(manifest, coreVersion),
    cardinalityFault(manifest.kind, cardinality),
    dependencyFault(manifest),
    innerSchemaFault("configSchema", manifest.configSchema),
    innerSchemaFault("stateSlot.schema", manifest.stateSlot?.schema ?? {}),
  ];
  return { manifest, faults: found.filter((fault) => fault !== null) };
}

type Shape = Pick<
  ExtensionManifest,
  "id" | "version" | "contractVersion" | "requiredCoreVersion" | "dependsOn" | "stateSlot"
>;

function versionFault(shape: Shape, coreVersion: string): DataFault | null {
  const { contractVersion, requiredCoreVersion: range } = shape;
  const own = [
    ["version", shape.version],
    ["stateSlot.slotVersion", shape.stateSlot?.slotVersion ?? "1.0.0"],
  ] as const;
  const wrong = own.find(([, version]) => isInRange(version, "*") === null);
  if (wrong !== undefined) return { path: wrong[0], reason: "it is not a version such as 1.0.0" };
  const isKnown = isContractKnown(contractVersion, EXTENSION_CONTRACT_VERSION);
  if (isKnown === null) {
    return { path: "contractVersion", reason: "it is not a version such as 1.0.0" };
  }
  if (!isKnown) {
    const reason = `it is for version ${contractVersion} of the contract`;
    const ours = `and this Fermata has ${EXTENSION_CONTRACT_VERSION}`;
    return { path: "contractVersion", reason: `${reason}, ${ours}` };
  }
  const fits = isInRange(coreVersion, range);
  if (fits) return null;
  const reason =
    fits === null
      ? "it is not a range such as >=0.1.0"
      : `it needs Fermata ${range}, and this is ${coreVersion}; update the one or the other`;
  return { path: "requiredCoreVersion", reason };
}

/** The seeds' manifests say it of themselves; it follows from the kind all the same. */
function cardinalityFault(
  kind: ExtensionKind,
  said: { readonly loaded: string | undefined; readonly active: string | undefined },
): DataFault | null {
  const { loaded, active } = KINDS[kind];
  if ((said.loaded ?? loaded) !== loaded) {
    return { path: "loadedCardinality", reason: `for the kind ${kind} it is ${loaded}` };
  }
  if ((said.active ?? active) === active) return null;
  return { path: "activeCardinality", reason: `for the kind ${kind} it is ${active}` };
}

function dependencyFault({ id, dependsOn }: Shape): DataFault | null {
  const names = Object.keys(dependsOn);
  if (names.length > EXTENSION_DEPENDENCIES_MAX) {
    return { path: "dependsOn", reason: `there are more than ${EXTENSION_DEPENDENCIES_MAX}` };
  }
  if (names.includes(id)) return { path: `dependsOn.${id}`, reason: "it cannot depend on itself" };
  const wrong = names.find((name) => isInRange("1.0.0", dependsOn[name] ?? "") === null);
  if (wrong === undefined) return null;
  return { path: `dependsOn.${wrong}`, reason: "it is not a range such as ^1.0.0" };
}

function innerSchemaFault(field: string, schema: JsonObject): DataFault | null {
  const found = schemaFault(schema);
  if (found === null) return null;
  return { path: found.path === "" ? field : `${field}.${found.path}`, reason: found.reason };
}

/** What an extension is configured with, if its own schema takes that. */
export function readExtensionConfig(
  { id, configSchema }: ExtensionManifest,
  config: unknown,
  bytesMax: number,
): Result<JsonObject> {
  const { fault } = plainText(config, bytesMax);
  const found = fault ?? (isObject(config) ? valueFault(configSchema, config) : NO_OBJECT);
  if (found === null && isObject(config)) return ok(config);
  const { path, reason } = found ?? NO_OBJECT;
  return fail("invalid_extension_config", { extension: id, path: path || "its root", reason });
}

const NO_OBJECT: DataFault = { path: "", reason: "it must be an object" };

/** Refused if more of a kind are to be active in one session than that kind has. */
export function checkActive(
  wanted: readonly Pick<ExtensionManifest, "id" | "kind">[],
): Result<void> {
  for (const [kind, { active }] of Object.entries(KINDS)) {
    const ids = wanted.filter((one) => one.kind === kind).map(({ id }) => id);
    if (active === "unlimited" || ids.length <= 1) continue;
    return fail("extension_cardinality", { kind, limit: 1, active: ids.sort().join(", ") });
  }
  return ok(undefined);
}
