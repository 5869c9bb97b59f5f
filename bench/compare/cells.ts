import type { Measured } from "./measured.ts";
import type { Cell, Column, Results } from "./results.ts";
import { ALL_ROWS, isMet, type Row, type Unit } from "./rows.ts";

/** What stands in a place without a figure. */
const NONE = "–";

/** The column that is no server. */
export const FLOOR = "floor";

export function shownRows({ cells }: Results): readonly Row[] {
  return ALL_ROWS.filter(({ id }) => cells.some(({ row }) => row === id));
}

export function cellOf({ cells }: Results, row: Row, column: Column): Cell | undefined {
  return cells.find((cell) => cell.row === row.id && cell.server === column.name);
}

export function measuredOf(cell: Cell | undefined): Measured | null {
  return cell === undefined || "reason" in cell.found ? null : cell.found;
}

export function titleOf({ name, figures, unit }: Row): string {
  const [first] = figures;
  // A rate says by its figure what there are so many of.
  if (unit === "/s") return `${name}, ${first?.name}/s`;
  return `${name}, ${figures.map((figure) => figure.name).join(" / ")} (${unit})`;
}

export function goalText({ figures, unit }: Row): string {
  if (figures.every(({ goal }) => goal === null)) return NONE;
  return figures.map(({ goal }) => (goal === null ? NONE : figureText(goal, unit))).join(" / ");
}

export function cellText({ unit }: Row, cell: Cell | undefined): string {
  const found = measuredOf(cell);
  if (found === null) return NONE;
  const text = found.figures.map((figure) => figureText(figure, unit)).join(" / ");
  return found.n > 1 ? `${text} (${found.n})` : text;
}

/** Whether all of a row's goals are met; null where it has none, or no figures, or is the floor. */
export function meetsGoals({ unit, figures }: Row, cell: Cell | undefined): boolean | null {
  const found = cell?.server === FLOOR ? null : measuredOf(cell);
  if (found === null || figures.every(({ goal }) => goal === null)) return null;
  return figures.every(({ goal }, at) => {
    return goal === null || isMet(unit, found.figures[at] ?? Number.NaN, goal);
  });
}

/** Two digits of what is small, and thousands as k. */
export function figureText(figure: number, unit: Unit): string {
  if (unit === "/s") return `${(figure / 1_000).toFixed(Math.abs(figure) < 10_000 ? 1 : 0)} k`;
  const size = Math.abs(figure);
  const small = unit === "MB" ? 3 : 2;
  return figure.toFixed(size >= 10 ? 0 : size >= 1 ? 1 : small);
}

/** Why a server has no figures, once for all rows that say the same. */
export function reasonsOf({ cells }: Results): readonly string[] {
  const lines = new Map<string, Set<string>>();
  for (const { server, row, found } of cells) {
    if (!("reason" in found)) continue;
    const line = `${server} has no figure: ${found.reason}`;
    const name = ALL_ROWS.find(({ id }) => id === row)?.name ?? row;
    lines.set(line, (lines.get(line) ?? new Set()).add(name));
  }
  return [...lines].map(([line, names]) => `${[...names].join(", ")}: ${line}`);
}

/** When and beside what the figures were taken. */
export function circumstancesOf({ cells, machine }: Results): string {
  const days = [...new Set(cells.map(({ at }) => at.slice(0, 10)))].sort();
  const loads = cells.map(({ load }) => load);
  const when = days.length > 1 ? `${days[0]} to ${days.at(-1)}` : (days[0] ?? "never");
  const { cpu, cores, memoryGb, system, node } = machine;
  const load = `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`;
  const machineText = `${cpu}, ${cores} cores, ${memoryGb} GiB, ${system}, Node ${node.slice(1)}`;
  return `${when}, ${machineText}; load of the machine ${load}`;
}
