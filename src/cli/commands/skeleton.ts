import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fail, ok, type Result } from "../../core/result.ts";
import { EXTENSION_ID } from "../../extension/manifest.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { stripsTypes } from "../../platform/type-stripping.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { type CommandOutput, wrong } from "./data-command.ts";

/** An example of the package that becomes a project of an author. */
interface Skeleton {
  /** Its folder among the examples. */
  readonly example: string;
  /** The name in its files that stands for the new one. */
  readonly standIn: string;
  readonly nextSteps: readonly string[];
}

/**
 * Writes a working extension with a test, from one of the examples. It is in a folder of its own
 * inside of the project, so that what the author installs for tests is no part of its code.
 */
export function newExtension(name: string, isTypeScript: boolean): Promise<Result<CommandOutput>> {
  const nextSteps = stepsOfExtension(name, isTypeScript);
  const example = isTypeScript ? "extension-typescript" : "extension";
  return newProject(name, { example, standIn: "my-extension", nextSteps });
}

/** Writes a working workflow with a test, from an example. */
export function newWorkflow(name: string): Promise<Result<CommandOutput>> {
  const nextSteps = [
    `try it: cd ${name} && node --test`,
    `check it: fermata workflows check ${join(name, `${name}.yaml`)}`,
    `use it: copy ${name}.yaml to .fermata/workflows/ in a workspace, or to ~/.fermata/workflows/`,
  ];
  return newProject(name, { example: "workflow", standIn: "my-workflow", nextSteps });
}

async function newProject(
  name: string,
  { example, standIn, nextSteps }: Skeleton,
): Promise<Result<CommandOutput>> {
  if (!EXTENSION_ID.test(name)) {
    return wrong(`"${name}": a name has small letters, digits and dashes, at most 64`);
  }
  const folder = join(PACKAGE_FOLDER, "examples", example);
  const project = resolve(name);
  const named = (text: string) => text.replaceAll(standIn, name);
  try {
    const isThere = (await readdir(project).catch(() => [])).length > 0;
    if (isThere) return fail("invalid_request", { reason: `there is something in ${project}` });
    const paths = (await filesIn(folder)).map((path) => [path, named(path)] as const);
    for (const [path, to] of paths) {
      await write(join(project, to), named(await readFile(join(folder, path), "utf8")));
    }
    await write(join(project, ".gitignore"), "node_modules/\n");
    await linkFermata(project);
    const shown = paths.map(([, to]) => join(name, to)).toSorted();
    return ok({ shown: shown.join("\n"), notices: nextSteps });
  } catch (thrown) {
    return fail("invalid_request", { reason: `${project}: ${fileFault(thrown)}` });
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
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

function stepsOfExtension(name: string, isTypeScript: boolean): readonly string[] {
  const test = `try it: cd ${name} && node --test`;
  const check = `check it: fermata extensions check ${join(name, name)}`;
  const { node } = process.versions;
  if (!isTypeScript || stripsTypes(node)) return [test, check];
  return [`this is Node ${node}; what is written runs on Node 22.18 or newer`, test, check];
}
