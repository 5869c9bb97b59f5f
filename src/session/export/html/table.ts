import { inlineHtml } from "./inline.ts";
import { endOf, isBlank, type Lines } from "./lines.ts";

/** The table that begins at a line, as HTML, and the line after it; null if none does. */
export function tableAt(lines: Lines, at: number): { html: string; end: number } | null {
  if (!isTableHead(lines, at)) return null;
  const head = lines[at] ?? "";
  const alignments = alignmentsIn(lines[at + 1] ?? "") ?? [];
  const end = endOf(lines, at + 2, (line) => !isBlank(line) && line.includes("|"));
  const rows = lines.slice(at + 2, end).map((line) => rowHtml(line, "td", alignments));
  const headRow = rowHtml(head, "th", alignments);
  const html = `<table>\n<thead>${headRow}</thead>\n<tbody>${rows.join("\n")}</tbody>\n</table>`;
  return { html: `<div class="wide">${html}</div>`, end };
}

export function isTableHead(lines: Lines, at: number): boolean {
  const head = lines[at] ?? "";
  const alignments = head.includes("|") ? alignmentsIn(lines[at + 1] ?? "") : null;
  return alignments !== null && cellsIn(head).length === alignments.length;
}

function rowHtml(line: string, tag: "td" | "th", alignments: readonly string[]): string {
  const cells = cellsIn(line).map((cell, column) => {
    const alignment = alignments[column] ?? "";
    return `<${tag}${alignment}>${inlineHtml(cell)}</${tag}>`;
  });
  return `<tr>${cells.join("")}</tr>`;
}

function cellsIn(line: string): readonly string[] {
  const cells = line
    .trim()
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
  if (cells[0] === "") cells.shift();
  if (cells.at(-1) === "") cells.pop();
  return cells;
}

/** What the line under the head says of each column; null if it is no such line. */
function alignmentsIn(line: string): readonly string[] | null {
  const cells = cellsIn(line);
  if (cells.length === 0 || !cells.every((cell) => /^:?-+:?$/.test(cell))) return null;
  return cells.map((cell) => {
    if (!cell.endsWith(":")) return "";
    return cell.startsWith(":") ? ' class="center"' : ' class="right"';
  });
}
