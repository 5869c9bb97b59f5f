import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { stripVTControlCharacters, styleText } from "node:util";

/** The version of Fermata. */
export function version(): string {
  const manifest = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

/** A table in which each column is as wide as its widest cell. */
export function tableText(headings: readonly string[], rows: readonly (readonly string[])[]) {
  const lines = [headings, ...rows];
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at] ?? ""))));
  const padded = lines.map((line) =>
    line.map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - widthOf(cell))),
  );
  return padded.map((line) => line.join("  ").trimEnd()).join("\n");
}

/** Colours take no room. */
function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** A time to the minute, in UTC; a dash for null. */
export function minuteOf(ms: number | null): string {
  return ms === null ? "-" : new Date(ms).toISOString().slice(0, 16);
}

/** How long ago that was, in one unit. */
export function sinceText(ms: number, nowMs = Date.now()): string {
  const seconds = Math.max(0, Math.round((nowMs - ms) / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
}

/** A folder as people write it. */
export function folderText(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** A coloured text in a terminal that shows colours (NO_COLOR, FORCE_COLOR); else as it is. */
export function paint(colour: "red" | "green" | "yellow", text: string): string {
  return styleText(colour, text, { stream: process.stdout });
}
