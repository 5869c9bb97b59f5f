import { rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { sentenceOf } from "../../core/error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { didYouMean } from "../../core/spelling.ts";
import { copyCode, readCode } from "../../extension/discovery/code.ts";
import { type FoundExtension, lookAt } from "../../extension/discovery/discovery.ts";
import { type TrustedCode, TrustList } from "../../extension/discovery/trust.ts";
import { readKnown, trustedAs } from "../../extension/workflow/known-workflows.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { canonical } from "../../platform/folder.ts";
import { homeOf } from "../home.ts";
import { minuteOf, tableText, version } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import { extensionFolders } from "../serve/extensions.ts";
import { TRUST } from "../table/agents.ts";
import { type CommandOutput, runCommand, wrong } from "./data-command.ts";

/** Says which code of extensions may run. */
export function trust(args: readonly string[]): Promise<number> {
  return runCommand({ row: TRUST, read }, args);
}

type TrustAction = () => Promise<Result<CommandOutput>>;

function read(
  { list, remove }: RowValues<typeof TRUST>,
  paths: readonly string[],
): Result<TrustAction> {
  const [path, extra] = paths;
  const home = resolve(homeOf(process.env));
  const isOne =
    [list === true, remove !== undefined, path !== undefined].filter(Boolean).length === 1;
  if (extra !== undefined) return wrong(`"${extra}" is too much`);
  if (!isOne) return wrong("expected one of PATH, --list and --remove ID");
  if (list) return ok(() => listed(home));
  return ok(() =>
    remove === undefined ? trusted(resolve(path ?? ""), home) : removed(remove, home),
  );
}

/** Trusts what is in the folder now, and keeps the copy of it that runs. */
async function trusted(path: string, home: string): Promise<Result<CommandOutput>> {
  const refused = (reason: string) => fail("invalid_request", { reason });
  const folder = await canonical(path);
  if (folder.endsWith(".yaml")) return trustedWorkflow(folder, home);
  const manifest = await stat(join(folder, "extension.json")).catch(fileFault);
  if (typeof manifest === "string") {
    const isThere = await stat(folder).catch(fileFault);
    const reason = typeof isThere === "string" ? isThere : NO_EXTENSION;
    return refused(`${path}: ${reason}`);
  }
  const found = await lookAt(folder, version());
  if ("why" in found) {
    const closer = `for a closer look: fermata extensions check ${path}`;
    return refused(`${sentenceOf(found.why)} Nothing is trusted; ${closer}`);
  }
  const { copies, trusted: list } = extensionFolders(home);
  const { code } = await readCode(folder);
  if (code === undefined || code.hash !== found.hash) {
    return refused(`${path} has changed meanwhile; try it again`);
  }
  const {
    manifest: { id, version: number },
    hash,
  } = found;
  try {
    await copyCode(code, copies);
  } catch (thrown) {
    return refused(`${copies}: ${fileFault(thrown)}`);
  }
  const entry = { hash, extension: id, folder, atMs: Date.now() };
  const added = await new TrustList(list).add(entry);
  if (!added.ok) return added;
  const { size } = code.files;
  const files = `${size} ${size === 1 ? "file" : "files"}`;
  const shown = `trusted: ${id} ${number}, ${files}, sha256 ${hash}`;
  return ok({ shown, notices: [placeNote(found, home)] });
}

/** Trusts what a file declares now. */
async function trustedWorkflow(file: string, home: string): Promise<Result<CommandOutput>> {
  const { name, hash, why } = await readKnown("workspace", file);
  if (why !== null || hash === null) {
    const closer = `for a closer look: fermata workflows check ${file}`;
    const said = why === null ? "" : sentenceOf(why);
    return fail("invalid_request", { reason: `${said} Nothing is trusted; ${closer}` });
  }
  const entry = { hash, extension: trustedAs(name), folder: file, atMs: Date.now() };
  const added = await new TrustList(extensionFolders(home).trusted).add(entry);
  if (!added.ok) return added;
  return ok({
    shown: `trusted: workflow ${name}, sha256 ${hash}`,
    notices: [workflowNote(file, home)],
  });
}

function workflowNote(file: string, home: string): string {
  const place = dirname(file);
  if (place.endsWith(join("/.fermata", "workflows"))) {
    return "sessions of this workspace can have it from now on";
  }
  if (place === join(home, "workflows")) return "your own need no trust";
  return "the server does not look for it there: put it into .fermata/workflows of a workspace";
}

const NO_EXTENSION = "it has no extension.json; name the folder of an extension";

/** Whether the server will find it there at all. */
function placeNote({ folder, manifest: { id } }: FoundExtension, home: string): string {
  const { home: own } = extensionFolders(home);
  const place = dirname(folder);
  const isPlace = place === own || place.endsWith(join("/.fermata", "extensions"));
  if (isPlace && basename(folder) === id) return "sessions that begin from now on have it";
  if (/[\\/]node_modules[\\/]/.test(folder)) {
    return `it runs once extensions.json names its package: {"${id}": {"package": "NAME"}}`;
  }
  const places = `${join(own, id)}, or .fermata/extensions/${id} in a workspace`;
  return `the server does not look for it there: its folder has to be ${places}`;
}

async function listed(home: string): Promise<Result<CommandOutput>> {
  const list = await new TrustList(extensionFolders(home).trusted).read();
  if (!list.ok) return list;
  if (list.value.length === 0) return ok({ notices: ["no code is trusted but the bundled one"] });
  const rows = await Promise.all(
    list.value.map(async ({ extension, hash, atMs, folder }) => {
      return [
        extension,
        hash.slice(0, 12),
        minuteOf(atMs),
        await whatIsThere(folder, hash),
        folder,
      ];
    }),
  );
  return ok({ shown: tableText(["EXTENSION", "SHA-256", "TRUSTED", "NOW", "FOLDER"], rows) });
}

async function whatIsThere(folder: string, hash: string): Promise<string> {
  if (folder.endsWith(".yaml")) {
    const { hash: now } = await readKnown("workspace", folder);
    return now === null ? "gone" : now === hash ? "the same" : "changed";
  }
  const { code } = await readCode(folder);
  if (code === undefined) return "gone";
  return code.hash === hash ? "the same" : "changed";
}

async function removed(id: string, home: string): Promise<Result<CommandOutput>> {
  const { copies, trusted: path } = extensionFolders(home);
  const list = new TrustList(path);
  const before = await list.read();
  if (!before.ok) return before;
  const ofIt = before.value.filter(({ extension }) => extension === id);
  if (ofIt.length === 0) {
    const meant = didYouMean(
      id,
      before.value.map(({ extension }) => extension),
    );
    return fail("invalid_request", { reason: `no code of "${id}" is trusted${meant}` });
  }
  const done = await list.remove(id);
  if (!done.ok) return done;
  await removeCopies(ofIt, copies);
  return ok({
    notices: [`no code of "${id}" is trusted any more; sessions at work keep it to their end`],
  });
}

/** What is not trusted any more is not kept either. */
async function removeCopies(codes: readonly TrustedCode[], copies: string): Promise<void> {
  for (const { hash } of codes) await rm(join(copies, hash), { recursive: true, force: true });
}
