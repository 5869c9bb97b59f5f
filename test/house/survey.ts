import { folderCycles } from "./folders.ts";
import type { Sources } from "./imports.ts";
import { lineCount } from "./measure.ts";
import { callbackInterfaces } from "./names.ts";
import { findingsOf, type House } from "./rules.ts";

/** One line of the table: a figure, and what it counts where that can be listed. */
export interface Measure {
  readonly name: string;
  readonly figure: number;
  readonly found: readonly string[];
}

/** All that is measured without running anything. */
export function survey(house: House): readonly Measure[] {
  const { sources } = house;
  const sizes = [...sources].map(([path, text]) => ({ path, lines: lineCount(text) }));
  const folders = [...new Set(sizes.map(({ path }) => path.split("/")[0] ?? path))];
  const byFolder = folders.flatMap((folder) => {
    const own = sizes.filter(({ path }) => path.startsWith(`${folder}/`));
    return sizeMeasures(
      `src/${folder}`,
      own.map(({ lines }) => lines),
    );
  });
  const lines = sizes.map((size) => size.lines).sort((one, other) => one - other);
  const largest = sizes.filter((size) => size.lines === lines.at(-1)).map(({ path }) => path);
  return [
    ...sizeMeasures("src", lines),
    ...byFolder,
    { name: "median file, lines", figure: medianOf(lines), found: [] },
    { name: "largest file, lines", figure: lines.at(-1) ?? 0, found: largest },
    counted("callback interfaces (by shape)", callbackInterfaces(sources)),
    counted("folders and files of session in a type cycle", inTypeCycles(sources)),
    ...findingsOf(house).map(({ rule, found }) => counted(rule, found)),
  ];
}

/** What a reader of one of them has to know the types of. */
function inTypeCycles(sources: Sources): readonly string[] {
  return folderCycles(sources, "session", "types too").flatMap((group) => group.split(", "));
}

/** The files that a prompt passes through, with their lines. */
export function promptMeasures(sources: Sources, paths: readonly string[]): readonly Measure[] {
  const lines = paths.reduce((sum, path) => sum + lineCount(sources.get(path) ?? ""), 0);
  return [
    counted("files on the way of one prompt", paths),
    { name: "and their lines", figure: lines, found: [] },
  ];
}

/** A table of text; with a second column and the change, if there is something to compare with. */
export function surveyTable(
  after: readonly Measure[],
  before: readonly Measure[] | null,
): readonly string[] {
  if (before === null) return after.map(({ name, figure }) => cells(name, [`${figure}`]));
  const names = new Set([...before, ...after].map(({ name }) => name));
  const rows = [...names].map((name) => {
    const [old, now] = [before, after].map(
      (all) => all.find((one) => one.name === name)?.figure ?? 0,
    );
    return cells(name, [`${old}`, `${now}`, changeText(old ?? 0, now ?? 0)]);
  });
  return [cells("", ["before", "after", "change"]), ...rows];
}

function sizeMeasures(name: string, lines: readonly number[]): readonly Measure[] {
  const sum = lines.reduce((total, count) => total + count, 0);
  return [
    { name: `${name}, files`, figure: lines.length, found: [] },
    { name: `${name}, lines`, figure: sum, found: [] },
  ];
}

function counted(name: string, found: readonly string[]): Measure {
  return { name, figure: found.length, found };
}

/** Of sorted figures. */
function medianOf(figures: readonly number[]): number {
  return figures[Math.floor(figures.length / 2)] ?? 0;
}

function changeText(before: number, after: number): string {
  if (before === after) return "";
  if (before === 0) return "new";
  const percent = Math.round((100 * (after - before)) / before);
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

function cells(name: string, figures: readonly string[]): string {
  return [name.padEnd(46), ...figures.map((figure) => figure.padStart(8))].join("");
}
