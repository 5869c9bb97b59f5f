import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sentenceOf } from "../../core/error.ts";
import { EXTENSION_FILE_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ExtensionConfiguration } from "../../extension/discovery/configuration.ts";
import type { ExtensionRules, KnownExtension } from "../../extension/discovery/known-extensions.ts";
import { TrustList } from "../../extension/discovery/trust.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { homeOf, isMissingFile } from "../home.ts";
import { version } from "../output.ts";
import { extensionPackage } from "../packages.ts";
import type { ServeOptions } from "./options.ts";
import { workspacesOf } from "./settings.ts";

/** The operator's file of extensions, and all places of extensions but workspaces. */
export interface OperatorExtensions extends ExtensionRules {
  /** The file that the configuration is from. */
  readonly file: string;
}

/** The files and folders of extensions in the home of Fermata. */
export function extensionFolders(home: string) {
  return {
    bundled: join(PACKAGE_FOLDER, "extensions"),
    home: join(home, "extensions"),
    copies: join(home, "extensions-code"),
    trusted: join(home, "trusted-extensions.json"),
  };
}

/** Where the workflows of an operator are, and what that operator trusts. */
export function workflowLocations(env: NodeJS.ProcessEnv) {
  const home = resolve(homeOf(env));
  return {
    bundled: join(PACKAGE_FOLDER, "workflows"),
    home: join(home, "workflows"),
    trust: new TrustList(extensionFolders(home).trusted),
  };
}

/** Reads which extensions the operator wants. The default file may be missing. */
export async function readExtensions(
  { "extension-config": named }: Pick<ServeOptions, "extension-config">,
  env: NodeJS.ProcessEnv,
): Promise<Result<OperatorExtensions>> {
  const folder = homeOf(env);
  const file = resolve(named ?? join(folder, "extensions.json"));
  const configuration = await readConfiguration(file, named !== null);
  if (!configuration.ok) return configuration;
  const { bundled, home, copies, trusted } = extensionFolders(resolve(folder));
  return ok({
    file,
    configuration: configuration.value,
    ...{ bundled, home, copies },
    packageFolder: (name) => extensionPackage(name, folder),
    trust: new TrustList(trusted),
    coreVersion: version(),
  });
}

async function readConfiguration(
  file: string,
  isNamed: boolean,
): Promise<Result<ExtensionConfiguration>> {
  const wrong = (reason: string) =>
    fail("invalid_server_config", { path: `extension file ${file}`, reason });
  try {
    const { size } = await stat(file);
    if (size > EXTENSION_FILE_BYTES_MAX) {
      return wrong(`it has more than ${EXTENSION_FILE_BYTES_MAX} bytes`);
    }
    const { readExtensionFile } = await import("../../extension/discovery/configuration.ts");
    return readExtensionFile(await readFile(file, "utf8"), file);
  } catch (thrown) {
    return !isNamed && isMissingFile(thrown) ? ok(new Map()) : wrong(fileFault(thrown));
  }
}

/**
 * Checks what is configured before a server starts: one that is critical has to be there. Answers
 * with a sentence for each of the others that cannot be loaded.
 */
export async function checkExtensions(
  extensions: OperatorExtensions,
  workspaces: readonly string[],
): Promise<Result<readonly string[]>> {
  if (extensions.configuration.size === 0) return ok([]);
  const { knownExtensions } = await import("../../extension/discovery/known-extensions.ts");
  const all: KnownExtension[] = [];
  for (const workspace of workspaces.length === 0 ? [null] : workspaces) {
    all.push(...(await knownExtensions(extensions, workspace)));
  }
  const notes: string[] = [];
  for (const id of extensions.configuration.keys()) {
    const ones = all.filter((one) => one.id === id && one.isEnabled);
    const [fault] = ones;
    // It may be an extension of one workspace only.
    if (fault === undefined || ones.some(({ why }) => why === null)) continue;
    const reason = faultText(fault, extensions);
    if (fault.isCritical)
      return fail("invalid_server_config", { path: `extension "${id}"`, reason });
    notes.push(`The extension "${id}" is left out. ${reason}`);
  }
  return ok(notes);
}

/** The workspaces whose own code may run: none in which agents write as a user of theirs. */
export function codeFolders(options: ServeOptions): readonly string[] {
  return options.untrusted || options["agent-user"] !== null ? [] : workspacesOf(options);
}

/** Why an extension cannot be loaded, and what the operator does about it. */
export function faultText(one: KnownExtension, { file }: OperatorExtensions): string {
  const { why, id, folder, isEnabled } = one;
  if (why === null) return "";
  return [sentenceOf(why), remedyOf(why.code)].filter(Boolean).join(" ");

  function remedyOf(code: string): string {
    if (code === "extension_untrusted") return `Look at it, then run: fermata trust ${folder}`;
    if (code === "invalid_extension_config") return `Correct "${id}.config" in ${file}.`;
    if (code === "extension_missing" && isEnabled) return `Or take "${id}" out of ${file}.`;
    if (code === "invalid_extension")
      return `To look closer, run: fermata extensions check ${folder}`;
    return "";
  }
}
