import { resolve } from "node:path";
import { sentenceOf } from "../../core/error.ts";
import { ok, type Result } from "../../core/result.ts";
import {
  type KnownExtension,
  knownExtensions,
} from "../../extension/discovery/known-extensions.ts";
import type { WorkflowSource } from "../../extension/workflow/contract.ts";
import { drawMermaid, drawText } from "../../extension/workflow/drawing.ts";
import {
  type KnownWorkflow,
  knownWorkflows,
  readKnown,
} from "../../extension/workflow/known-workflows.ts";
import { planOf } from "../../extension/workflow/plan.ts";
import { type FileFault, readWorkflowFile } from "../../extension/workflow/workflow-file.ts";
import { expectedWord } from "../command-line.ts";
import { tableText } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import {
  codeFolders,
  faultText,
  type OperatorExtensions,
  readExtensions,
  workflowLocations,
} from "../serve/extensions.ts";
import { readServeOptions } from "../serve/read-options.ts";
import { WORKFLOWS } from "../table/agents.ts";
import { type CommandOutput, runCommand, wrong } from "./data-command.ts";
import { newWorkflow } from "./skeleton.ts";

type WorkflowsFlags = RowValues<typeof WORKFLOWS>;

/** Shows workflows to operators, and helps authors with theirs. */
export function workflows(args: readonly string[]): Promise<number> {
  return runCommand({ row: WORKFLOWS, read }, args);
}

interface WorkflowsPart {
  /** What its one word is; null if it takes none. */
  readonly word: string | null;
  readonly flags: readonly (keyof WorkflowsFlags)[];
  act(flags: WorkflowsFlags, word: string): Promise<Result<CommandOutput>>;
}

const PARTS: Readonly<Record<string, WorkflowsPart>> = {
  list: { word: null, flags: ["workspace", "json"], act: list },
  check: { word: "FILE", flags: ["mermaid", "json"], act: check },
  new: { word: "NAME", flags: [], act: (_, name) => newWorkflow(name) },
};

function read(
  flags: WorkflowsFlags,
  [name = "", word, extra]: readonly string[],
): Result<() => Promise<Result<CommandOutput>>> {
  const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  if (part === undefined) return wrong(expectedWord(name || undefined, "list, check or new"));
  const foreign = Object.keys(flags).find((flag) => !part.flags.some((own) => own === flag));
  if (foreign !== undefined) return wrong(`--${foreign} is not for "${name}"`);
  if (part.word !== null && word === undefined) return wrong(`expected ${name} ${part.word}`);
  const tooMuch = part.word === null ? word : extra;
  if (tooMuch !== undefined) return wrong(`"${tooMuch}" is too much`);
  return ok(() => part.act(flags, word ?? ""));
}

/** What a server with the same options would find. */
async function list({ workspace, json }: WorkflowsFlags): Promise<Result<CommandOutput>> {
  const args = workspace === undefined ? [] : [`--workspace=${workspace}`];
  const options = await readServeOptions(args, process.env);
  if (!options.ok) return options;
  const places = workflowLocations(process.env);
  const folders = codeFolders(options.value);
  const extensions = await readExtensions(options.value, process.env);
  if (!extensions.ok) return extensions;
  const all: ListedWorkflow[] = [];
  for (const folder of folders.length === 0 ? [null] : folders) {
    const declared = await knownWorkflows({ ...places, workspace: folder });
    const modules = await knownExtensions(extensions.value, folder);
    const more = [
      ...declared.map(listedFile),
      ...modules.flatMap((one) => listedModule(one, extensions.value)),
    ];
    all.push(...more.filter(({ file }) => !all.some((other) => other.file === file)));
  }
  const notices = folders.length > 0 ? [] : [NO_WORKSPACE];
  if (json) return ok({ shown: JSON.stringify(all, null, 2), notices });
  const rows = all.map(({ name, from, ready, description }) => {
    return [name, from, ready ? "ready" : "not usable", description ?? "-"];
  });
  const lines = all.flatMap(({ name, fault }) => (fault ? [`${name}: ${fault.text}`] : []));
  const head = ["WORKFLOW", "FROM", "STATE", "DOES"];
  return ok({ shown: [tableText(head, rows), ...lines].join("\n\n"), notices });
}

const NO_WORKSPACE = "with these options no server takes workflows of a workspace";

interface ListedWorkflow {
  readonly name: string;
  readonly from: WorkflowSource;
  /** Of a module its folder. */
  readonly file: string | null;
  readonly description: string | null;
  readonly ready: boolean;
  readonly fault?: { readonly code: string; readonly text: string };
}

function listedFile(one: KnownWorkflow): ListedWorkflow {
  const { name, source: from, file, declared, why } = one;
  return {
    ...{ name, from, file, description: declared?.description ?? null, ready: why === null },
    ...(why !== null && { fault: { code: why.code, text: faultOf(one) } }),
  };
}

/** Of extensions those that are workflows. */
function listedModule(one: KnownExtension, operator: OperatorExtensions): ListedWorkflow[] {
  const { id: name, source, folder: file, manifest, isEnabled, why } = one;
  if (manifest?.kind !== "workflow" || !isEnabled) return [];
  const { description } = manifest;
  return [
    {
      ...{ name, from: source ?? "home", file, description, ready: why === null },
      ...(why !== null && { fault: { code: why.code, text: faultText(one, operator) } }),
    },
  ];
}

function faultOf({ why, file }: KnownWorkflow): string {
  if (why === null) return "";
  const remedies: Readonly<Record<string, string>> = {
    workflow_untrusted: `Look at it, then run: fermata trust ${file}`,
    invalid_workflow: `To look closer, run: fermata workflows check ${file}`,
  };
  return [sentenceOf(why), remedies[why.code] ?? ""].filter(Boolean).join(" ");
}

/** Says what is wrong with the workflow in a file; it fails if anything is. */
async function check(
  { mermaid, json }: WorkflowsFlags,
  path: string,
): Promise<Result<CommandOutput>> {
  const { declared, name, text, hash, why } = await readKnown("workspace", resolve(path));
  const faults = text === "" ? [] : readWorkflowFile(text).faults;
  const exitCode = why === null ? 0 : 1;
  if (json) {
    const more = why === null ? {} : { reason: sentenceOf(why) };
    const shown = JSON.stringify({ name, hash, fits: why === null, ...more, faults }, null, 2);
    return ok({ shown, exitCode });
  }
  if (declared === null) {
    const lines = faults.map((fault) => faultLine(path, fault));
    return ok({ shown: lines.join("\n") || (why === null ? "" : sentenceOf(why)), exitCode });
  }
  const plan = planOf(declared);
  if (mermaid) return ok({ shown: drawMermaid(plan).trimEnd() });
  const count = plan.stages.length === 1 ? "1 stage" : `${plan.stages.length} stages`;
  return ok({ shown: `${name}: ${count}, nothing is wrong\n\n${drawText(plan)}` });
}

function faultLine(path: string, { line, column, field, reason, remedy }: FileFault): string {
  const about = [field, reason].filter(Boolean).join(": ");
  return `${path}:${line}:${column}: ${about}. What to do: ${remedy}`;
}
