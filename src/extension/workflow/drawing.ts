import type { Next, PlanPath, StagePlan, WorkflowPlan } from "./contract.ts";

/** Where a workflow stands; a drawing without it has no marks. */
export interface WorkflowPosition {
  /** Of the stages that are at work, or next. */
  readonly current: readonly string[];
  /** How often each stage has ended. */
  readonly visits: { readonly [stageId: string]: number };
}

const NOWHERE: WorkflowPosition = { current: [], visits: {} };

/** A workflow as lines of text: each stage with a mark, and below it what may follow. */
export function drawText(plan: WorkflowPlan, at: WorkflowPosition = NOWHERE): string {
  return plan.stages.flatMap((stage) => [lineOf(stage, at), ...waysOf(plan, stage.id)]).join("\n");
}

function lineOf({ id, name, run }: StagePlan, { current, visits }: WorkflowPosition): string {
  const visited = visits[id] ?? 0;
  const mark = current.includes(id) ? ">" : visited > 0 ? "x" : " ";
  const said = name === id ? id : `${id}: ${name}`;
  const command = run === null ? "" : ` (runs ${run})`;
  return `${mark} ${said}${command}${visited > 1 ? ` (${visited} times)` : ""}`;
}

function waysOf({ paths }: WorkflowPlan, id: string): readonly string[] {
  const ways = (paths ?? []).filter(({ from }) => from === id);
  return ways.map(({ next, when }, index) => {
    const isRest = when === "" && index > 0;
    const condition = isRest ? "else: " : when === "" ? "" : `${when}: `;
    return `    ${condition}${targetText(next)}`;
  });
}

function targetText(next: Next): string {
  if (next.kind === "pause") return "wait for a person";
  const line = next.stages.join(next.kind === "parallel" ? " + " : ", then ");
  if (next.kind === "sequential") return line === "" ? "end" : line;
  return `${line}, at the same time${next.join === undefined ? "" : `, then ${next.join}`}`;
}

/** A workflow as a Mermaid flowchart. */
export function drawMermaid(plan: WorkflowPlan, at: WorkflowPosition = NOWHERE): string {
  const { current, visits } = at;
  const { stages, paths, entry } = plan;
  const ids = new Map(stages.map(({ id }, at) => [id, `s${at}`]));
  const node = (id: string) => ids.get(id) ?? "done";
  const lines = [
    "flowchart TD",
    "  begin((start))",
    ...stages.map(({ id, name }) => `  ${node(id)}["${escaped(name)}"]`),
    "  done((end))",
    "  person{{a person decides}}",
    `  begin --> ${node(entry)}`,
    ...(paths ?? []).flatMap((path) => arrowsOf(path, node)),
    ...current.map((id) => `  class ${node(id)} current`),
    ...Object.keys(visits).flatMap((id) =>
      current.includes(id) || !ids.has(id) ? [] : [`  class ${node(id)} visited`],
    ),
    "  classDef current stroke-width:4px",
    "  classDef visited opacity:0.6",
  ];
  return `${lines.filter((line) => isDrawn(line, lines)).join("\n")}\n`;
}

/** What nothing leads to is not drawn, and neither is the look of what there is not. */
function isDrawn(line: string, lines: readonly string[]): boolean {
  const [, shape] = /^ {2}(done|person)[({]/.exec(line) ?? [];
  if (shape !== undefined) return lines.some((other) => other.endsWith(` ${shape}`));
  const [, look] = /^ {2}classDef (\w+)/.exec(line) ?? [];
  return look === undefined || lines.some((other) => other.endsWith(` ${look}`));
}

function arrowsOf({ from, next, when }: PlanPath, node: (id: string) => string) {
  const label = when === "" ? "" : `|"${escaped(when)}"|`;
  if (next.kind === "pause") return [`  ${node(from)} -.->${label} person`];
  const { stages } = next;
  if (stages.length === 0) return [`  ${node(from)} -->${label} done`];
  if (next.kind === "sequential") {
    const [first = "", ...rest] = stages;
    const after = rest.map((id, at) => `  ${node(stages[at] ?? "")} --> ${node(id)}`);
    return [`  ${node(from)} -->${label} ${node(first)}`, ...after];
  }
  const { join } = next;
  return stages.flatMap((id) => [
    `  ${node(from)} ==>${label} ${node(id)}`,
    `  ${node(id)} ==> ${join === undefined ? "done" : node(join)}`,
  ]);
}

/** Names and values are of people: in a label nothing of them is read as Mermaid or HTML. */
function escaped(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ");
  return flat.replaceAll(/[&<>"#`;]/g, (letter) => `#${letter.charCodeAt(0)};`);
}
