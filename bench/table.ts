import type { Outcome } from "./trial.ts";

const HEADING = ["trial", "subject", "floor", "ratio", "budget"];
const threeDigits = new Intl.NumberFormat("en", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** One aligned table; a trial's own figures stand on lines of their own below its row. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = [HEADING, ...outcomes.map(cellsOf)];
  const widths = HEADING.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.flatMap((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
    const figures = Object.entries(outcomes[index - 1]?.figures ?? {});
    return [line.trimEnd(), ...figures.map(([name, value]) => `  ${name}: ${value}`)];
  });
  return `${lines.join("\n")}\n`;
}

export function rateText(perSecond: number): string {
  return `${threeDigits.format(perSecond)}/s`;
}

function cellsOf({ trial, subjectPerSecond, floorPerSecond, ratio }: Outcome): string[] {
  return [
    trial.name,
    `${rateText(subjectPerSecond)} ${trial.subject.name}`,
    `${rateText(floorPerSecond)} ${trial.floor.name}`,
    ratio.toFixed(2),
    trial.budget ?? "",
  ];
}
