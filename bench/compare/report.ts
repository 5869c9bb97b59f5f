import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { escaped } from "../../src/session/export/html-text.ts";
import { ROOT } from "../../test/house/files.ts";
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
import { barsOf, spreadOf } from "./plot.ts";
import { REPORT_STYLE } from "./report-style.ts";
import type { Results } from "./results.ts";
import type { Row } from "./rows.ts";
import { element } from "./svg.ts";

const FILE = join(ROOT, "bench/report.html");

export function writeReport(results: Results): void {
  writeFileSync(FILE, reportOf(results));
}

/** One page without anything from elsewhere: a table, and plots of each row. */
export function reportOf(results: Results): string {
  const title = "Fermata: benchmarks";
  const body = [
    element("h1", {}, title),
    element("p", { class: "faint" }, escaped(circumstancesOf(results))),
    element(
      "p",
      {},
      "Fast where people wait, small where they pay: each row has a goal. The floor ",
      "is the least that the work can cost on this machine. All servers had the same agent behind ",
      "them, and were measured by ",
      element("code", {}, "npm run bench -- compare"),
      ".",
    ),
    legendOf(results),
    tableOf(results),
    element(
      "ul",
      { class: "faint" },
      ...reasonsOf(results).map((line) => element("li", {}, escaped(line))),
    ),
    element("h2", {}, "Row by row"),
    element(
      "p",
      { class: "faint" },
      "Bars begin at zero. Curves show the share of times that took ",
      "at most so long, on a scale of tens: the right end is the slowest.",
    ),
    element("div", { class: "cards" }, ...shownRows(results).map((row) => cardOf(row, results))),
  ];
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    element("title", {}, title),
    element("style", {}, REPORT_STYLE),
  ];
  const page = element(
    "html",
    { lang: "en" },
    element("head", {}, ...head),
    element("body", {}, element("main", {}, ...body.map((part) => `\n${part}`))),
  );
  return `<!doctype html>\n${page}\n`;
}

function legendOf({ columns }: Results): string {
  const items = columns.map(({ name, about }, series) =>
    element(
      "li",
      {},
      element("span", { class: `key s${series}` }),
      element("b", {}, escaped(name)),
      ` ${escaped(about)}`,
    ),
  );
  return element("ul", { class: "legend" }, ...items);
}

function tableOf(results: Results): string {
  const { columns } = results;
  const heads = ["", "goal", ...columns.map(({ name }) => name)];
  const lines = shownRows(results).map((row) => {
    const cells = columns.map((column) => {
      const cell = cellOf(results, row, column);
      const isAsGood = meetsGoals(row, cell);
      const mark = isAsGood === null ? {} : { class: isAsGood ? "met" : "missed" };
      return element("td", mark, cellText(row, cell));
    });
    const goal = element("td", { class: "faint" }, goalText(row));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, escaped(titleOf(row))),
      goal,
      ...cells,
    );
  });
  const head = element("tr", {}, ...heads.map((name) => element("th", {}, escaped(name))));
  const all = [element("thead", {}, head), element("tbody", {}, ...lines.map((one) => `\n${one}`))];
  return element("div", { class: "wide" }, element("table", {}, ...all));
}

function cardOf(row: Row, results: Results): string {
  const counts = results.columns.flatMap((column) => {
    const cell = cellOf(results, row, column);
    return cell === undefined || "reason" in cell.found ? [] : [`${column.name} ${cell.found.n}`];
  });
  return `\n${element(
    "section",
    {},
    element("h3", {}, escaped(titleOf(row))),
    barsOf(row, results),
    spreadOf(row, results),
    element("p", { class: "faint" }, escaped(`${row.method} Samples: ${counts.join(", ")}.`)),
  )}`;
}
