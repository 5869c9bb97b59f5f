/** The lines of a Markdown text and how far they are indented; a tab is as far as four spaces. */
export type Lines = readonly string[];

const TAB_SPACES = 4;

export function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}

export function indentOf(line: string): number {
  let indent = 0;
  for (const character of line) {
    if (character === " ") indent += 1;
    else if (character === "\t") indent += TAB_SPACES;
    else break;
  }
  return indent;
}

/** A line without so much of its indentation, or without all that it has. */
export function dedented(line: string, indent: number): string {
  let left = indent;
  let at = 0;
  while (left > 0 && (line[at] === " " || line[at] === "\t")) {
    left -= line[at] === "\t" ? TAB_SPACES : 1;
    at += 1;
  }
  return " ".repeat(Math.max(0, -left)) + line.slice(at);
}

/** The line after the last one, from this one on, of which all are so. */
export function endOf(lines: Lines, at: number, isSo: (line: string, index: number) => boolean) {
  let end = at;
  while (end < lines.length && isSo(lines[end] ?? "", end)) end += 1;
  return end;
}
