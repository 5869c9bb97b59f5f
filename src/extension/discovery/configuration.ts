import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import { EXTENSIONS_FOUND_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { EXTENSION_ID } from "../manifest.ts";
import { shapeFault } from "../shape-fault.ts";

/** What the operator says of one extension. Its own schema judges the configuration later. */
interface ConfiguredExtension {
  readonly isEnabled: boolean;
  /** No new session is made without it. */
  readonly isCritical: boolean;
  readonly config: JsonObject;
  /** The npm package that it is in; null if it is in one of the folders of extensions. */
  readonly packageName: string | null;
}

/** By id. */
export type ExtensionConfiguration = ReadonlyMap<string, ConfiguredExtension>;

/** A name, without the path of a file in the package, and without any of the file system. */
const PACKAGE_NAME = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i;

const FIELDS = {
  enabled: z.boolean().default(true),
  critical: z.boolean().default(false),
  config: z.custom<JsonObject>(isObject, "it must be an object").default({}),
  package: z
    .string()
    .max(214, "it is too long for the name of a package")
    .regex(PACKAGE_NAME, "it must be the name of an npm package, such as my-extension")
    .optional(),
};

const ENTRY = z.strictObject(FIELDS);

/**
 * Reads the operator's file of extensions: an object by id. It is strict, so that a mistyped switch
 * does not leave out a guard. A fault names its place, and never the value.
 */
export function readExtensionFile(text: string, file: string): Result<ExtensionConfiguration> {
  const wrong = (reason: string) =>
    fail("invalid_server_config", { path: `extension file ${file}`, reason });
  const { value, fault } = parseJson(text);
  if (fault !== undefined) return wrong(fault);
  if (!isObject(value)) return wrong('it holds no object, such as {"todo": {"enabled": true}}');
  const entries = Object.entries(value);
  if (entries.length > EXTENSIONS_FOUND_MAX) {
    return wrong(`it has more than ${EXTENSIONS_FOUND_MAX} extensions`);
  }
  const configured = new Map<string, ConfiguredExtension>();
  for (const [id, said] of entries) {
    if (!EXTENSION_ID.test(id)) {
      return wrong(`${JSON.stringify(id.slice(0, 64))}: no extension can have this id`);
    }
    const read = ENTRY.safeParse(said);
    if (!read.success) {
      const { path, reason } = shapeFault(read.error, Object.keys(FIELDS));
      return wrong(`${[id, path].filter(Boolean).join(".")}: ${reason}`);
    }
    const { enabled: isEnabled, critical: isCritical, config, package: name } = read.data;
    configured.set(id, { isEnabled, isCritical, config, packageName: name ?? null });
  }
  return ok(configured);
}
