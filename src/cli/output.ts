import { readFileSync } from "node:fs";

/** The version of Fermata. */
export function version(): string {
  const manifest = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

/** A table in which each column is as wide as its widest cell. */
export function tableText(headings: readonly string[], rows: readonly (readonly string[])[]) {
  const lines = [headings, ...rows];
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const padded = lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)));
  return padded.map((line) => line.join("  ").trimEnd()).join("\n");
}

/** A time to the minute, in UTC; a dash for null. */
export function minuteOf(ms: number | null): string {
  return ms === null ? "-" : new Date(ms).toISOString().slice(0, 16);
}
