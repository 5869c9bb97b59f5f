import { createHash } from "node:crypto";
import type { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { isObject, stringAt } from "../../core/json.ts";
import { WORKFLOW_FAULTS_MAX, WORKFLOW_FILE_BYTES_MAX } from "../../core/limits.ts";
import { didYouMean } from "../../core/spelling.ts";
import { type PlainYaml, parsePlainYaml, type TextPosition } from "../../wire/plain-yaml.ts";
import { DECLARATION, DECLARATION_FIELDS, type Declaration } from "./declaration.ts";
import { flowFaults } from "./flow-faults.ts";
import { planOf } from "./plan.ts";
import { planFaults, type WorkflowFault } from "./plan-faults.ts";

/** What is wrong in the file of a workflow. */
export interface FileFault extends TextPosition {
  /** Keys and indexes, joined by dots; empty is the whole file. */
  readonly field: string;
  readonly reason: string;
  readonly remedy: string;
}

export type WorkflowReading =
  | { readonly declared: Declaration; readonly hash: string; readonly faults: readonly [] }
  | { readonly declared: null; readonly hash: string; readonly faults: readonly FileFault[] };

/** Reads the text of a workflow's file, and answers all that is wrong with it. */
export function readWorkflowFile(text: string): WorkflowReading {
  const hash = createHash("sha256").update(text).digest("hex");
  const refused = (...faults: readonly FileFault[]): WorkflowReading => {
    const inOrder = faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
    return { declared: null, hash, faults: inOrder.slice(0, WORKFLOW_FAULTS_MAX) };
  };
  const bytes = Buffer.byteLength(text);
  if (bytes > WORKFLOW_FILE_BYTES_MAX) {
    return refused(faultAt({ line: 1, column: 1 }, ...tooLarge(bytes)));
  }
  const { document, fault } = parsePlainYaml(text);
  if (fault !== undefined) return refused(faultAt(fault.position, ...notYaml(fault.reason)));
  if (document.anchor !== null) return refused(faultAt(document.anchor, ...ANCHOR));
  const { declared, faults } = judged(document.value);
  if (declared !== null) return { declared, hash, faults: [] };
  return refused(...faults.map((one) => placed(one, document)));
}

const ANCHOR = ["it has an anchor (&)", "write the value out where it is needed"] as const;

function tooLarge(bytes: number): readonly [string, string] {
  const reason = `it has ${bytes} bytes, and a workflow at most ${WORKFLOW_FILE_BYTES_MAX}`;
  return [reason, "make several workflows of it"];
}

function notYaml(reason: string): readonly [string, string] {
  const remedies: Readonly<Record<string, string>> = {
    "it has an alias": "write the value out where it is needed",
    "Map keys must be unique": "take one of the two out",
    "Tabs are not allowed as indentation": "indent with spaces",
  };
  const remedy = remedies[reason] ?? "correct the text there; a text with : or # needs quotes";
  return [`it is not plain YAML: ${reason}`, remedy];
}

function faultAt(position: TextPosition, reason: string, remedy: string): FileFault {
  return { ...position, field: "", reason, remedy };
}

interface FileJudgement {
  readonly declared: Declaration | null;
  readonly faults: readonly WorkflowFault[];
}

/** What was declared, if nothing is wrong with it. */
function judged(value: unknown): FileJudgement {
  if (!isObject(value)) return { declared: null, faults: [NO_FIELDS] };
  const read = DECLARATION.safeParse(value);
  if (read.success) {
    const faults = meaningFaults(read.data);
    return { declared: faults.length === 0 ? read.data : null, faults };
  }
  // What is of its form is judged all the same: an author wants to know all that is wrong at once.
  const rest = mended(value);
  const shape = read.error.issues.flatMap(shapeFaultOf);
  const more = (rest === null ? [] : meaningFaults(rest)).filter(({ path }) => {
    return !shape.some((known) => isWithin(path, known.path) || isWithin(known.path, path));
  });
  return { declared: null, faults: [...shape, ...more] };
}

function isWithin(path: readonly string[], above: readonly string[]): boolean {
  return above.every((key, at) => path[at] === key);
}

const NO_FIELDS: WorkflowFault = {
  path: [],
  reason: "it has no fields",
  remedy: "begin with: fermata workflows new NAME",
};

function meaningFaults(declared: Declaration): readonly WorkflowFault[] {
  return [...planFaults(planOf(declared)), ...flowFaults(declared)];
}

function shapeFaultOf(issue: z.core.$ZodIssue): FileJudgement["faults"] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const reason = `there is no such field${meantBy(key)}`;
      return { path: [...path, key], reason, remedy: "correct its name, or take it out" };
    });
  }
  const said = issue.message.replace(/^Invalid \w+: /, "");
  const missing = /^expected (.+), received undefined$/.exec(said);
  if (missing !== null)
    return [{ path, reason: `it is missing (${missing[1]})`, remedy: "add it" }];
  const remedy = 'correct it; docs/workflows.md, "The file", has what it may be';
  return [{ path, reason: said.replace(/^expected/, "it must be of the type"), remedy }];
}

/** A field that is known elsewhere is in the wrong place, and not mistyped. */
function meantBy(key: string): string {
  return DECLARATION_FIELDS.includes(key) ? " here" : didYouMean(key, DECLARATION_FIELDS);
}

/** Stand for what a stage cannot be without. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  name: "unnamed",
  description: "none",
  body: "none",
};

const MENDING_ROUNDS_MAX = 4;

/**
 * The declaration without what is not of its form; null if not enough is left. What is still wrong
 * without a value needs one, so what that is in is left out.
 */
function mended(value: unknown): Declaration | null {
  const copy: unknown = structuredClone(value);
  for (let round = 0; round < MENDING_ROUNDS_MAX; round += 1) {
    const read = DECLARATION.safeParse(copy);
    if (read.success) return read.data;
    for (const issue of read.error.issues) {
      const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
      if (keys.length > 0) for (const key of keys) takeOut(copy, [...issue.path, key]);
      else takeOut(copy, round < 2 ? issue.path : issue.path.slice(0, -1));
    }
  }
  return null;
}

function takeOut(whole: unknown, path: readonly PropertyKey[]) {
  const parent = path.slice(0, -1).reduce((inner, key) => Object(inner)[key], whole);
  const key = path.at(-1);
  if (key === undefined || typeof parent !== "object" || parent === null) return;
  if (Array.isArray(parent)) parent[Number(key)] = undefined;
  else if (key === "id") Reflect.set(parent, key, `unnamed-${String(path.at(-2))}`);
  else if (Object.hasOwn(STAND_INS, key)) Reflect.set(parent, key, STAND_INS[String(key)]);
  else Reflect.deleteProperty(parent, key);
}

function placed(fault: WorkflowFault, document: PlainYaml): FileFault {
  const { path, reason, remedy } = fault;
  return { ...document.keyPositionOf(path), field: path.join("."), reason, remedy };
}

/** The first fault of a file, as the reason why its workflow cannot be started. */
export function refusedFile(workflow: string, faults: readonly FileFault[]): Refusal {
  const [first] = faults;
  const { line = 1, column = 1, field = "", reason = "", remedy = "" } = first ?? {};
  const path = [`line ${line}, column ${column}`, field].filter(Boolean).join(", ");
  return refusal("invalid_workflow", { workflow, path, reason: `${reason}; ${remedy}` });
}

/** A file is named after its workflow, so that a listing needs to read none. */
export function nameFault(text: string, name: string): FileFault | null {
  const { document } = parsePlainYaml(text);
  const said = isObject(document?.value) ? stringAt(document.value, "name") : null;
  if (document === undefined || said === null || said === name) return null;
  const reason = `its file is called ${name}.yaml`;
  const position = document.positionOf(["name"]);
  return {
    ...position,
    field: "name",
    reason,
    remedy: `write "name: ${name}", or rename the file`,
  };
}
