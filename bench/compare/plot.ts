import { escaped } from "../../src/session/export/html-text.ts";
import { cellOf, figureText, measuredOf } from "./cells.ts";
import type { Results } from "./results.ts";
import type { Row } from "./rows.ts";
import { element } from "./svg.ts";

const WIDTH = 360;
const NAMES = 104;
const VALUES = 62;
const BAR = 14;
const LINE = 19;
const HEAD = 20;

/** A bar for each server and figure, with the goal as a line across them. */
export function barsOf(row: Row, results: Results): string {
  let top = 0;
  const groups = row.figures.map(({ name, goal }, at) => {
    const bars = results.columns.flatMap((column, series) => {
      const figure = measuredOf(cellOf(results, row, column))?.figures[at];
      return figure === undefined ? [] : [{ name: column.name, series, figure }];
    });
    const most = Math.max(goal ?? 0, ...bars.map(({ figure }) => figure));
    const x = (figure: number) => (Math.max(0, figure) / most) * (WIDTH - NAMES - VALUES);
    const start = top;
    top += HEAD + bars.length * LINE;
    const drawn = bars.map(({ name: server, series, figure }, line) => {
      const y = start + HEAD + line * LINE;
      const text = { y: y + BAR - 3 };
      return [
        element("text", { ...text, x: NAMES - 6, "text-anchor": "end" }, escaped(server)),
        element("rect", {
          ...{ x: NAMES, y, width: Math.max(1, x(figure)).toFixed(1), height: BAR, rx: 2 },
          class: `s${series}`,
        }),
        element(
          "text",
          { ...text, x: (NAMES + x(figure) + 5).toFixed(1), class: "value" },
          figureText(figure, row.unit),
        ),
      ].join("");
    });
    const title = element("text", { x: 0, y: start + 13, class: "faint" }, escaped(name));
    const place = { from: start + HEAD - 4, to: top - 3 };
    const line = goal === null ? "" : goalLine(NAMES + x(goal), place, figureText(goal, row.unit));
    return [title, ...drawn, line].join("");
  });
  return picture(top + 4, `${row.name}: figures by server`, groups.join(""));
}

function goalLine(x: number, { from, to }: { from: number; to: number }, goal: string): string {
  const at = x.toFixed(1);
  const anchor = x > WIDTH - 90 ? "end" : x < NAMES + 40 ? "start" : "middle";
  return [
    element("line", { x1: at, x2: at, y1: from, y2: to, class: "goal" }),
    element("text", { x: at, y: from - 3, class: "faint", "text-anchor": anchor }, `goal ${goal}`),
  ].join("");
}

const PLOT = 112;
const LEFT = 50;
const RIGHT = 20;

/** Fewer are stairs. */
const CURVE_SAMPLES_MIN = 20;

/** How times are spread: the share of them that took at most so long, on a scale of tens. */
export function spreadOf(row: Row, results: Results): string {
  const lines = results.columns.flatMap((column, series) => {
    const found = measuredOf(cellOf(results, row, column));
    const spread = found?.spread;
    return spread === undefined || (found?.n ?? 0) < CURVE_SAMPLES_MIN ? [] : [{ series, spread }];
  });
  const all = lines.flatMap(({ spread }) => spread).filter((ms) => ms > 0);
  if (all.length === 0) return "";
  const [low, high] = [Math.log10(Math.min(...all)), Math.log10(Math.max(...all))];
  const span = Math.max(0.3, high - low);
  const y = (ms: number) => 8 + (1 - (Math.log10(Math.max(ms, 1e-3)) - low) / span) * (PLOT - 8);
  const x = (share: number) => LEFT + share * (WIDTH - LEFT - RIGHT);
  const paths = lines.map(({ series, spread }) => {
    const points = spread.map((ms, at) => {
      return `${x(at / (spread.length - 1)).toFixed(1)},${y(ms).toFixed(1)}`;
    });
    return element("polyline", { points: points.join(" "), class: `s${series} curve` });
  });
  const ticks = ticksBetween(10 ** low, 10 ** (low + span)).map((ms) => {
    const at = y(ms).toFixed(1);
    return [
      element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at, class: "grid" }),
      element(
        "text",
        { x: LEFT - 5, y: y(ms) + 3.5, "text-anchor": "end", class: "faint" },
        `${ms} ms`,
      ),
    ].join("");
  });
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    element(
      "text",
      { x: x(share), y: PLOT + 14, "text-anchor": "middle", class: "faint" },
      `${share * 100} %`,
    ),
  );
  const parts = [...ticks, ...shares, ...paths];
  return picture(PLOT + 20, `${row.name}: how the times are spread`, parts.join(""));
}

/** 1, 2 and 5 of each power of ten, or only the powers where those are many. */
function ticksBetween(low: number, high: number): readonly number[] {
  const powers = Array.from({ length: 10 }, (_, at) => 10 ** (at - 3));
  const fine = powers.flatMap((power) => [1, 2, 5].map((times) => rounded(times * power)));
  const within = (marks: readonly number[]) => marks.filter((ms) => ms >= low && ms <= high);
  return within(fine).length > 6 ? within(powers.map(rounded)) : within(fine);
}

function rounded(mark: number): number {
  return Number(mark.toPrecision(1));
}

function picture(height: number, label: string, content: string): string {
  const size = { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height };
  return element("svg", { ...size, role: "img", "aria-label": label }, content);
}
