import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import type { Findings, Measured } from "./measured.ts";
import type { GroupName, RowId } from "./rows.ts";
import { rowsOf } from "./rows.ts";

/** A column of the table. */
export interface Column {
  readonly name: string;
  readonly about: string;
}

/** One row of one server: what was measured, or why nothing was; and when, and how busy it was. */
export interface Cell {
  readonly server: string;
  readonly row: RowId;
  readonly at: string;
  /** What the machine did beside, as its load of the last minute before. */
  readonly load: number;
  readonly found: Measured | { readonly reason: string };
}

interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
}

/** All that a report is made of. */
export interface Results {
  readonly machine: Machine;
  readonly columns: readonly Column[];
  readonly cells: readonly Cell[];
}

export function noResults(): Results {
  return { machine: thisMachine(), columns: [], cells: [] };
}

/** What was measured last of a row and a server is what counts. */
export function withCells(before: Results, column: Column, cells: readonly Cell[]): Results {
  const isOlder = (old: Cell) =>
    cells.some(({ server, row }) => old.server === server && old.row === row);
  const isKnown = before.columns.some(({ name }) => name === column.name);
  return {
    machine: before.machine,
    columns: isKnown ? before.columns : [...before.columns, column],
    cells: [...before.cells.filter((old) => !isOlder(old)), ...cells],
  };
}

/** The rows of a group for one server; a row without a finding has the reason. */
export function cellsOf(
  group: GroupName,
  server: string,
  found: Findings | { readonly reason: string },
): readonly Cell[] {
  const [load = 0] = loadavg();
  const at = new Date().toISOString();
  return rowsOf(group).flatMap((row) => {
    const own = "reason" in found ? found : found[row.id];
    return own === undefined ? [] : [{ server, row: row.id, at, load, found: own }];
  });
}

export function readResults(file: string): Results {
  // Written by `writeResults` of this same bench: a person who edits it gets what they wrote.
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : noResults();
}

export function writeResults(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

function thisMachine(): Machine {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}
