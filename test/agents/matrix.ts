// The table of docs/agents.md, as a run has found it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/files.ts";
import type { Check } from "./checks/check.ts";
import { type Cell, PAIR_CHECKS } from "./contract.ts";
import type { AgentRow, PairRow } from "./roster.ts";

const BEGIN = "<!-- Written by `npm run test:agents`: begin -->";
const END = "<!-- Written by `npm run test:agents`: end -->";

const SIGNS: Readonly<Record<Cell["kind"], string>> = { pass: "✓", fail: "✗", none: "n/a" };

export interface Column {
  readonly agent: AgentRow;
  /** Of each check that was tried; null for an agent that could not be installed. */
  readonly cells: ReadonlyMap<string, Cell> | null;
}

/** Nothing in it depends on when it ran: the same findings are the same text. */
export function matrixOf(columns: readonly Column[], checks: readonly Check[]): string {
  const versions = columns.map(({ agent }) => {
    return `| \`${agent.name}\` | \`${agent.package.name}\` | ${agent.package.version} |`;
  });
  const named = columns.map(({ agent, cells }) => ({ name: agent.name, cells }));
  return [
    ["| Agent | Package | Version |", "|---|---|---|", ...versions].join("\n"),
    tableOf(named, checks),
    reasonsOf(named, checks).join("\n"),
  ].join("\n\n");
}

/** The pairs of agents, of which the first delegates to the other. */
export interface PairColumn {
  readonly pair: PairRow;
  readonly cells: Column["cells"];
}

/** The same of pairs. */
export function pairMatrixOf(columns: readonly PairColumn[]): string {
  const named = columns.map(({ pair, cells }) => {
    return { name: `${pair.parent} → ${pair.child}`, cells };
  });
  const parts = [tableOf(named, PAIR_CHECKS), reasonsOf(named, PAIR_CHECKS).join("\n")];
  return parts.filter((part) => part !== "").join("\n\n");
}

interface NamedColumn {
  readonly name: string;
  readonly cells: Column["cells"];
}

function tableOf(columns: readonly NamedColumn[], checks: readonly Check[]): string {
  const head = ["", ...columns.map(({ name }) => name)].join(" | ");
  const rows = checks.map(({ name, title }) => {
    const signs = columns.map(({ cells }) => {
      const cell = cells?.get(name);
      return cell === undefined ? "–" : SIGNS[cell.kind];
    });
    return `| ${[`\`${name}\` ${title}`, ...signs].join(" | ")} |`;
  });
  return [`|${head} |`, `|${"---|".repeat(columns.length + 1)}`, ...rows].join("\n");
}

/** One line for each cell that is not a plain yes; agents with the same reason share one. */
function reasonsOf(columns: readonly NamedColumn[], checks: readonly Check[]): readonly string[] {
  const lines = new Map<string, string[]>();
  for (const { name } of checks) {
    for (const { name: agent, cells } of columns) {
      const cell = cells?.get(name);
      if (cell === undefined || cell.kind === "pass") continue;
      const missed = cell.kind === "fail" ? "does not hold: " : "";
      const line = `\`${name}\`: ${missed}${cell.reason}`;
      lines.set(line, [...(lines.get(line) ?? []), agent]);
    }
  }
  const missing = columns.filter(({ cells }) => cells === null).map(({ name }) => name);
  return [
    ...[...lines].map(([line, names]) => `- **${names.join(", ")}** · ${line}`),
    ...(missing.length === 0 ? [] : [`- **${missing.join(", ")}** · could not be installed`]),
  ];
}

/** Between the marks of a page of the documentation. */
export function writeMatrix(path: string, text: string): void {
  const page = readFileSync(join(ROOT, path), "utf8");
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error(`${path} has lost the marks of the matrix`);
  writeFileSync(join(ROOT, path), `${before}${BEGIN}\n\n${text}\n\n${END}${after}`);
}
