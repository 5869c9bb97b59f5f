import {
  cellOf,
  cellText,
  circumstancesOf,
  goalText,
  meetsGoals,
  reasonsOf,
  shownRows,
  titleOf,
} from "./cells.ts";
import type { Results } from "./results.ts";

/** The table as it is printed, with how each row is measured. */
export function textTable(results: Results): string {
  const rows = shownRows(results);
  const heads = ["", "goal", ...results.columns.map(({ name }) => name)];
  const lines = rows.map((row) => [
    titleOf(row),
    goalText(row),
    ...results.columns.map((column) => cellText(row, cellOf(results, row, column))),
  ]);
  const widths = heads.map((_, at) =>
    Math.max(...[heads, ...lines].map((line) => line[at]?.length ?? 0)),
  );
  const aligned = [heads, ...lines].map((line) =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  "),
  );
  const methods = rows.map(({ name, method }) => `  ${name}: ${method}`);
  const around = [circumstancesOf(results), "n in parentheses. How:"];
  const reasons = reasonsOf(results).map((line) => `  ${line}`);
  return `${[...aligned, "", ...around, ...methods, ...reasons].join("\n")}\n`;
}

/** The same as Markdown; what is at least as good as its goal is bold. */
export function markdownTable(results: Results): string {
  const { columns } = results;
  const rows = shownRows(results);
  const lines = rows.map((row) => {
    const cells = columns.map((column) => {
      const cell = cellOf(results, row, column);
      const text = cellText(row, cell);
      return meetsGoals(row, cell) ? `**${text}**` : text;
    });
    return `| ${[titleOf(row), goalText(row), ...cells].join(" | ")} |`;
  });
  const heads = ["", "goal", ...columns.map(({ name }) => name)].join(" | ");
  return [
    [`Measured ${circumstancesOf(results)}.`, ""],
    [`|${heads} |`, `|---|${"--:|".repeat(columns.length + 1)}`, ...lines],
    ["", "Bold is as good as its goal. The number of samples is in parentheses. The columns:", ""],
    columns.map(({ name, about }) => `- **${name}**: ${about}.`),
    reasonsOf(results).map((line) => `- ${line}.`),
    ["", "How each row is measured:", ""],
    rows.map(({ name, method }) => `- **${name}**: ${method}`),
  ]
    .flat()
    .join("\n");
}
