// The table of docs/agents.md, as a run has found it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/files.ts";
import type { Check } from "./checks/check.ts";
import type { Cell } from "./contract.ts";
import type { AgentRow } from "./roster.ts";

const PAGE = join(ROOT, "docs/agents.md");
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
  const head = ["", ...columns.map(({ agent }) => agent.name)].join(" | ");
  const rows = checks.map(({ name, title }) => {
    const signs = columns.map(({ cells }) => {
      const cell = cells?.get(name);
      return cell === undefined ? "–" : SIGNS[cell.kind];
    });
    return `| ${[`\`${name}\` ${title}`, ...signs].join(" | ")} |`;
  });
  return [
    ["| Agent | Package | Version |", "|---|---|---|", ...versions].join("\n"),
    [`|${head} |`, `|${"---|".repeat(columns.length + 1)}`, ...rows].join("\n"),
    reasonsOf(columns, checks).join("\n"),
  ].join("\n\n");
}

/** One line for each cell that is not a plain yes; agents with the same reason share one. */
function reasonsOf(columns: readonly Column[], checks: readonly Check[]): readonly string[] {
  const lines = new Map<string, string[]>();
  for (const { name } of checks) {
    for (const { agent, cells } of columns) {
      const cell = cells?.get(name);
      if (cell === undefined || cell.kind === "pass") continue;
      const missed = cell.kind === "fail" ? "does not hold: " : "";
      const line = `\`${name}\`: ${missed}${cell.reason}`;
      lines.set(line, [...(lines.get(line) ?? []), agent.name]);
    }
  }
  const missing = columns.filter(({ cells }) => cells === null).map(({ agent }) => agent.name);
  return [
    ...[...lines].map(([line, names]) => `- **${names.join(", ")}** · ${line}`),
    ...(missing.length === 0 ? [] : [`- **${missing.join(", ")}** · could not be installed`]),
  ];
}

export function writeMatrix(text: string): void {
  const page = readFileSync(PAGE, "utf8");
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error("docs/agents.md has lost the marks of the matrix");
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`);
}
