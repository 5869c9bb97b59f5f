import { EXPORT_NESTING_MAX } from "../../../core/limits.ts";
import { fenceIn } from "../markdown-text.ts";
import { inlineHtml } from "./inline.ts";
import { dedented, endOf, indentOf, isBlank, type Lines } from "./lines.ts";
import { itemsAt } from "./list.ts";
import { isTableHead, tableAt } from "./table.ts";
import { visible, withEntities } from "./text.ts";

/**
 * A text that is Markdown, as agents write it, as HTML. It knows the Markdown that they use; HTML
 * in it is text like all other. The headings stand below ours.
 */
export function proseHtml(markdown: string): string {
  return blocksHtml(visible(markdown).split("\n"), { depth: 0, isTight: false });
}

/** Where some blocks stand: inside of how many others, and whether as one line of a list. */
interface Place {
  readonly depth: number;
  readonly isTight: boolean;
}

/** What stands at a line, and the line after it. */
interface Block {
  readonly html: string;
  readonly end: number;
}

type Reader = (lines: Lines, at: number, place: Place) => Block | null;

/** In the order in which they are tried; what is nothing else is a paragraph. */
const READERS: readonly Reader[] = [
  fencedCode,
  heading,
  rule,
  quotation,
  list,
  tableAt,
  indentedCode,
];

function blocksHtml(lines: Lines, place: Place): string {
  const blocks: string[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { html, end } = blockAt(lines, at, place);
    blocks.push(html);
    at = end;
  }
  return blocks.join("\n");
}

function blockAt(lines: Lines, at: number, place: Place): Block {
  for (const read of READERS) {
    const block = read(lines, at, place);
    if (block !== null) return block;
  }
  return paragraph(lines, at, place);
}

function fencedCode(lines: Lines, at: number): Block | null {
  const open = fenceIn(lines[at] ?? "");
  if (open === null) return null;
  const end = endOf(lines, at + 1, (line) => {
    const fence = fenceIn(line);
    return fence === null || fence.info !== "" || !fence.marks.startsWith(open.marks);
  });
  const code = lines.slice(at + 1, end).map((line) => dedented(line, open.indent));
  return { html: codeHtml(code), end: end + 1 };
}

function indentedCode(lines: Lines, at: number): Block | null {
  const end = endOf(lines, at, (line) => isBlank(line) || indentOf(line) >= CODE_INDENT);
  if (end === at) return null;
  return { html: codeHtml(lines.slice(at, end).map((line) => dedented(line, CODE_INDENT))), end };
}

const CODE_INDENT = 4;

function codeHtml(lines: Lines): string {
  return `<pre><code>${withEntities(lines.join("\n").trimEnd())}</code></pre>`;
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/s;
const OUR_LEVELS = 2;
const LEVELS_MAX = 6;

function heading(lines: Lines, at: number): Block | null {
  const [whole, marks = "", words = ""] = HEADING.exec(lines[at] ?? "") ?? [];
  if (whole === undefined) return null;
  const level = Math.min(LEVELS_MAX, marks.length + OUR_LEVELS);
  return { html: `<h${level}>${inlineHtml(words.trim())}</h${level}>`, end: at + 1 };
}

function rule(lines: Lines, at: number): Block | null {
  return isRule(lines[at] ?? "") ? { html: "<hr>", end: at + 1 } : null;
}

function isRule(line: string): boolean {
  const marks = /^[-*_ \t]*$/.test(line) ? line.replaceAll(/[ \t]/g, "") : "";
  return marks.length >= 3 && indentOf(line) < CODE_INDENT && /^(?:-*|\*+|_+)$/.test(marks);
}

const QUOTED = /^ {0,3}> ?/;

function quotation(lines: Lines, at: number, { depth }: Place): Block | null {
  if (depth >= EXPORT_NESTING_MAX || !QUOTED.test(lines[at] ?? "")) return null;
  const end = endOf(lines, at, (line) => QUOTED.test(line));
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTED, ""));
  const html = blocksHtml(inside, { depth: depth + 1, isTight: false });
  return { html: `<blockquote>\n${html}\n</blockquote>`, end };
}

function list(lines: Lines, at: number, { depth }: Place): Block | null {
  const found = depth >= EXPORT_NESTING_MAX ? null : itemsAt(lines, at, startsBlock);
  if (found === null) return null;
  const { items, start, end } = found;
  const isTight = !items.some((item) => item.slice(1).some(isBlank));
  const set = items.map((item) => `<li>${blocksHtml(item, { depth: depth + 1, isTight })}</li>`);
  const [tag, first] = start === null ? ["ul", ""] : ["ol", start === 1 ? "" : ` start="${start}"`];
  return { html: `<${tag}${first}>\n${set.join("\n")}\n</${tag}>`, end };
}

function paragraph(lines: Lines, at: number, { isTight }: Place): Block {
  const end = endOf(lines, at + 1, (line, index) => {
    return !isBlank(line) && !startsBlock(line) && !isTableHead(lines, index);
  });
  const words = lines.slice(at, end).map((line) => line.trim());
  // People who begin a new line mean it, and so do most agents.
  const html = inlineHtml(words.join("\n")).replaceAll("\n", "<br>\n");
  return { html: isTight ? html : `<p>${html}</p>`, end };
}

/** A list that interrupts a paragraph begins with 1: a year at the start of a line is no item. */
const INTERRUPTING_ITEM = /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/;

function startsBlock(line: string): boolean {
  if (fenceIn(line) !== null || HEADING.test(line) || isRule(line)) return true;
  return QUOTED.test(line) || INTERRUPTING_ITEM.test(line);
}
