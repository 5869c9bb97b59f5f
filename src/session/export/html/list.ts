import { dedented, indentOf, isBlank, type Lines } from "./lines.ts";

/** The items of a list, each by its lines, and the number of the first if they have numbers. */
interface Items {
  readonly items: readonly Lines[];
  readonly start: number | null;
  readonly end: number;
}

interface Item {
  readonly indent: number;
  /** How far the lines after the first must be indented to belong to it. */
  readonly reach: number;
  readonly number: number | null;
  readonly words: string;
}

const ITEM = /^([ \t]*)(?:[-*+]|(\d{1,9})[.)])(?:([ \t]+)(.*))?$/s;

/** Agents indent what belongs to an item by two spaces, or by as many as its mark is wide. */
const REACH_MIN = 2;
const MARK_ROOM_MAX = 4;

function itemIn(line: string): Item | null {
  const [whole, before = "", digits, room = "", words = ""] = ITEM.exec(line) ?? [];
  if (whole === undefined) return null;
  const indent = indentOf(before);
  const markWidth = whole.length - before.length - room.length - words.length;
  const isCode = room.length > MARK_ROOM_MAX; // The words are code then, and keep their room.
  const reach = indent + markWidth + (isCode ? 1 : room.length);
  const kept = isCode ? room.slice(1) + words : words;
  return { indent, reach, number: digits === undefined ? null : Number(digits), words: kept };
}

/** The list that begins at a line; null if none does. */
export function itemsAt(
  lines: Lines,
  at: number,
  startsBlock: (line: string) => boolean,
): Items | null {
  const first = itemIn(lines[at] ?? "");
  if (first === null || first.indent >= MARK_ROOM_MAX) return null;
  const items: string[][] = [];
  let item = first;
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const next = isOfList(line) ? itemIn(line) : null;
    if (next !== null) {
      item = next;
      items.push([task(next.words)]);
    } else if (belongs(line, lines[end - 1])) {
      items.at(-1)?.push(dedented(line, item.reach));
    } else break;
  }
  const last = items.at(-1);
  while (last !== undefined && last.length > 1 && isBlank(last.at(-1))) last.pop();
  return { items, start: first.number, end };

  /** Whether a line is the next item, and not one of a list inside of this or of another. */
  function isOfList(line: string): boolean {
    const found = itemIn(line);
    if (found === null || (found.number === null) !== (first?.number === null)) return false;
    return found.indent < Math.min(item.reach, item.indent + REACH_MIN);
  }

  function belongs(line: string, before: string | undefined): boolean {
    if (isBlank(line)) return true;
    const isInside = indentOf(line) >= Math.min(item.reach, item.indent + REACH_MIN);
    return isInside || (!isBlank(before) && !startsBlock(line));
  }
}

/** The box of a task, ticked or not. */
function task(words: string): string {
  const [, tick] = /^\[([ xX])\][ \t]/.exec(words) ?? [];
  if (tick === undefined) return words;
  return `${tick === " " ? "\u2610" : "\u2611"} ${words.slice(4)}`;
}
