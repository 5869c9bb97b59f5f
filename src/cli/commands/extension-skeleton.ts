import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fail, ok, type Result } from "../../core/result.ts";
import { EXTENSION_ID } from "../../extension/manifest.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { stripsTypes } from "../../platform/type-stripping.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { type CommandOutput, wrong } from "./data-command.ts";

/** The name that stands for the new one in the files of the examples. */
const EXAMPLE = "my-extension";

/**
 * Writes a working extension with a test, from one of the examples. It is in a folder of its own
 * inside of the project, so that what the author installs for tests is no part of its code.
 */
export async function newExtension(
  name: string,
  isTypeScript: boolean,
): Promise<Result<CommandOutput>> {
  if (!EXTENSION_ID.test(name)) {
    return wrong(`"${name}": a name has small letters, digits and dashes, at most 64`);
  }
  const kind = isTypeScript ? "extension-typescript" : "extension";
  const example = join(PACKAGE_FOLDER, "examples", kind);
  const project = resolve(name);
  try {
    const isThere = (await readdir(project).catch(() => [])).length > 0;
    if (isThere) return fail("invalid_request", { reason: `there is something in ${project}` });
    const paths = (await filesIn(example)).map((path) => [path, named(path, name)] as const);
    for (const [path, to] of paths) {
      await write(join(project, to), named(await readFile(join(example, path), "utf8"), name));
    }
    await write(join(project, ".gitignore"), "node_modules/\n");
    await linkFermata(project);
    const shown = paths.map(([, to]) => join(name, to)).toSorted();
    return ok({ shown: shown.join("\n"), notices: nextSteps(name, isTypeScript) });
  } catch (thrown) {
    return fail("invalid_request", { reason: `${project}: ${fileFault(thrown)}` });
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

function named(text: string, name: string): string {
  return text.replaceAll(EXAMPLE, name);
}

async function write(path: string, text: string) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: "wx" });
}

/** So tests and types work at once, without a network; `npm install` puts a copy in its place. */
async function linkFermata(project: string) {
  const link = join(project, "node_modules", "fermata");
  await mkdir(dirname(link), { recursive: true });
  await symlink(PACKAGE_FOLDER, link, "junction");
}

function nextSteps(name: string, isTypeScript: boolean): readonly string[] {
  const test = `try it: cd ${name} && node --test`;
  const check = `check it: fermata extensions check ${join(name, name)}`;
  const { node } = process.versions;
  if (!isTypeScript || stripsTypes(node)) return [test, check];
  return [`this is Node ${node}; what is written runs on Node 22.18 or newer`, test, check];
}
