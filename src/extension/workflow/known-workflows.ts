import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { type Refusal, refusal } from "../../core/error.ts";
import { WORKFLOW_FILE_BYTES_MAX, WORKFLOWS_FOUND_MAX } from "../../core/limits.ts";
import { fileFault } from "../../platform/file-fault.ts";
import type { TrustList } from "../discovery/trust.ts";
import { EXTENSION_ID } from "../manifest.ts";
import type { WorkflowSource } from "./contract.ts";
import type { Declaration } from "./declaration.ts";
import { nameFault, readWorkflowFile, refusedFile } from "./workflow-file.ts";

/** Where files of workflows are looked for. */
export interface WorkflowLocations {
  readonly bundled: string;
  readonly home: string;
  /** A workspace that is trusted and whose files may count; null is none. */
  readonly workspace: string | null;
  /** What its operator trusts of a workspace's workflows, by content. */
  readonly trust: Pick<TrustList, "read">;
}

/** A file that declares a workflow, or is meant to. */
export interface KnownWorkflow {
  readonly name: string;
  readonly source: WorkflowSource;
  readonly file: string;
  readonly text: string;
  readonly hash: string | null;
  /** Null if it cannot be read. */
  readonly declared: Declaration | null;
  /** Null if it can be started. */
  readonly why: Refusal | null;
}

const ENDING = ".yaml";

/** Where a workspace has workflows of its own. */
const OWN_PLACE = join(".fermata", "workflows");

/** The name under which the content of a workflow is in the list of trusted code. */
export function trustedAs(name: string): string {
  return `${name}${ENDING}`;
}

/**
 * All files of workflows, by name, those further up in this order first: bundled, of the operator,
 * of the workspace. Of one name the first counts. Nothing of them runs.
 */
export async function knownWorkflows(places: WorkflowLocations): Promise<readonly KnownWorkflow[]> {
  const all = [
    ...(await workflowsIn("bundled", places.bundled)),
    ...(await workflowsIn("home", places.home)),
    ...(await workflowsOf(places)),
  ];
  const judged = all.map((one, at) => {
    const first = all.find(({ name }) => name === one.name);
    return first === one || first === undefined || all.indexOf(first) > at
      ? one
      : { ...one, why: hiddenBy(one, first) };
  });
  return judged.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function hiddenBy({ name: workflow, file }: KnownWorkflow, { source }: KnownWorkflow): Refusal {
  const reason = `there is a ${source} one of this name; give ${basename(file)} another`;
  return refusal("invalid_workflow", { workflow, path: "its name", reason });
}

async function workflowsOf({ workspace, trust }: WorkflowLocations) {
  if (workspace === null) return [];
  const place = join(workspace, OWN_PLACE);
  const real = await realpath(place).catch(() => null);
  const root = await realpath(workspace).catch(() => workspace);
  if (real !== null && !real.startsWith(`${root}${sep}`)) {
    return [refusedPlace("workspace", place, "it leads outside of the workspace")];
  }
  const found = await workflowsIn("workspace", place);
  if (found.every(({ declared }) => declared === null)) return found;
  const list = await trust.read();
  const trusted = new Set(list.ok ? list.value.map(({ hash }) => hash) : []);
  return found.map((one) => {
    const { name: workflow, file, hash, why } = one;
    if (why !== null || hash === null || trusted.has(hash)) return one;
    const untrusted = refusal("workflow_untrusted", { workflow, file, hash });
    return { ...one, why: list.ok ? untrusted : list.refusal };
  });
}

async function workflowsIn(source: WorkflowSource, place: string) {
  const entries = await entriesOf(place);
  if (typeof entries === "string") return [refusedPlace(source, place, entries)];
  const files = entries.filter(({ name }) => name.endsWith(ENDING) && !name.startsWith("."));
  if (files.length > WORKFLOWS_FOUND_MAX) {
    const reason = `it has more than ${WORKFLOWS_FOUND_MAX} files; move some away`;
    return [refusedPlace(source, place, reason)];
  }
  const found: KnownWorkflow[] = [];
  // One after the other: what is open at a time is one file.
  for (const { name } of files) found.push(await readKnown(source, join(place, name)));
  return found;
}

/** A text is why they cannot be told. */
async function entriesOf(place: string): Promise<readonly Dirent[] | string> {
  try {
    return await readdir(place, { withFileTypes: true });
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    return isMissing ? [] : fileFault(thrown);
  }
}

function refusedPlace(source: WorkflowSource, file: string, reason: string): KnownWorkflow {
  const why = refusal("invalid_workflow", { workflow: "?", path: file, reason });
  return { name: "?", source, file, text: "", hash: null, declared: null, why };
}

/** What a file declares, and why that cannot be started. */
export async function readKnown(source: WorkflowSource, file: string): Promise<KnownWorkflow> {
  const name = basename(file, ENDING);
  const read = await textOf(file);
  if ("fault" in read) {
    const why = refusal("invalid_workflow", { workflow: name, path: file, reason: read.fault });
    return { name, source, file, text: "", hash: null, declared: null, why };
  }
  const { text } = read;
  const { declared, hash, faults } = readWorkflowFile(text);
  const misnamed = EXTENSION_ID.test(name) ? nameFault(text, name) : null;
  const all = misnamed === null ? faults : [...faults, misnamed];
  const why = all.length === 0 ? null : refusedFile(name, all);
  return { name, source, file, text, hash, declared: why === null ? declared : null, why };
}

/** Opens no link, and does not wait for the writer of a pipe. */
const SAFE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A file that is larger than a workflow may be is read so far that this can be told. */
async function textOf(
  file: string,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  try {
    const handle = await open(file, SAFE_FLAGS);
    try {
      if (!(await handle.stat()).isFile()) return { fault: "it is no regular file" };
      const buffer = Buffer.alloc(WORKFLOW_FILE_BYTES_MAX + 1);
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
      return { text: buffer.toString("utf8", 0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    const isLink = thrown instanceof Error && "code" in thrown && thrown.code === "ELOOP";
    return { fault: isLink ? "it is a link" : fileFault(thrown) };
  }
}
