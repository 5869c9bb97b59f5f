import { Lexer, Parser, Renderer, type Token, Tokenizer, type Tokens } from "marked";
import {
  EXPORT_INLINE_WORK_MAX,
  EXPORT_MARKDOWN_PIECE_CHARS,
  EXPORT_NESTING_MAX,
  EXPORT_TABLE_CELLS_MAX,
} from "../../core/limits.ts";
import { fenceIn } from "./markdown.ts";

/**
 * Foreign text in an HTML document. Nothing in it is ever markup, and nothing in it changes how
 * the text around it looks: not by colours for terminals, not by turning the direction of a line.
 */
export function escaped(text: string): string {
  return withEntities(visible(text));
}

/** For text that is `visible` already: what means something in HTML, as entities. */
function withEntities(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** The same text without what only a terminal understands, and with signs for what is unseen. */
function visible(text: string): string {
  const lines = text.replace(TERMINAL_SEQUENCES, "").replace(/\r\n?/g, "\n");
  return lines.replace(UNSEEN, signFor);
}

const ESCAPE = "\u001b";
const BELL = "\u0007";

/**
 * Colours and moves of a cursor; titles and links, up to their end; and all the short ones. Each
 * part stops at the next escape, so that a text of nothing else does not cost its length squared.
 */
const TERMINAL_SEQUENCES = new RegExp(
  [
    `(?:${ESCAPE}\\[|\u009b)[0-?]*[ -/]*[@-~]`,
    `${ESCAPE}[\\]PX^_][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
    `${ESCAPE}[ -/]*[0-~]`,
  ].join("|"),
  "g",
);

/** Control characters but for line ends and tabs, and what reverses the direction of a line. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

const PICTURE_OF_NULL = 0x2400;
const PICTURE_OF_DELETE = "\u2421";

function signFor(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x20) return String.fromCodePoint(PICTURE_OF_NULL + point);
  if (point === 0x7f) return PICTURE_OF_DELETE;
  return `[U+${point.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** An address that a link may lead to, in its plainest form; null if it had better not. */
export function safeAddress(text: string): string | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(text) || !URL.canParse(text)) return null;
  return new URL(text).href;
}

/**
 * Markdown, as agents write it, as HTML. HTML in it is text like all other, a link leads only to
 * the web or to a mail address, an image is named and not loaded, and headings stand below those
 * of the document. Text that `marked` cannot read, or only slowly, is shown as it was written.
 */
export function proseHtml(markdown: string): string {
  return piecesOf(visible(markdown)).map(pieceHtml).join("\n");
}

/**
 * Cuts a long text at blank lines, because some texts cost `marked` their length squared. A cut
 * never parts a fenced block, nor a list from what is indented below it.
 */
function piecesOf(text: string): readonly string[] {
  if (text.length <= EXPORT_MARKDOWN_PIECE_CHARS) return [text];
  const pieces: string[] = [];
  let begin = 0;
  let at = 0;
  let fence: string | null = null;
  let wasBlank = false;
  for (const line of text.split("\n")) {
    const isLong = at - begin >= EXPORT_MARKDOWN_PIECE_CHARS;
    if (isLong && wasBlank && fence === null && /^\S/.test(line)) {
      pieces.push(text.slice(begin, at));
      begin = at;
    }
    const { marks, info } = fenceIn(line) ?? { marks: null, info: "" };
    if (fence === null) fence = marks;
    else if (marks?.startsWith(fence) && info === "") fence = null;
    wasBlank = line.trim() === "";
    at += line.length + 1;
  }
  return [...pieces, text.slice(begin)];
}

function pieceHtml(piece: string): string {
  if (piece.length > 2 * EXPORT_MARKDOWN_PIECE_CHARS) return asWritten(piece);
  try {
    const options = { gfm: true, breaks: true };
    const lexer = new BoundedLexer({ ...options, tokenizer: new SafeTokenizer() });
    return new Parser({ ...options, renderer: new EscapingRenderer() })
      .parse(lexer.lex(piece))
      .trimEnd();
  } catch {
    return asWritten(piece);
  }
}

const asWritten = (text: string) => `<pre>\n${withEntities(text)}</pre>`;

/** Leaves words as they are where looking for marks in them would take too long. */
class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const marks = text.match(INLINE_MARKS)?.length ?? 0;
    if (marks * text.length <= EXPORT_INLINE_WORK_MAX) return super.inlineTokens(text, tokens);
    tokens.push({ type: "text", raw: text, text });
    return tokens;
  }
}

/** Characters at which `marked` may look through the whole text that follows. */
const INLINE_MARKS = /[^\p{L}\p{N}\s]| (?= )/gu;

/**
 * Takes for Markdown what is safe to show. A method that returns nothing leaves the text to the
 * tokenizers after it, and at last to plain text.
 */
class SafeTokenizer extends Tokenizer {
  #depth = 0;

  override html(): undefined {}

  override tag(): undefined {}

  /** A definition would vanish from the text, and a reader is to see all of it. */
  override def(): undefined {}

  override blockquote(text: string) {
    return this.#nested(() => super.blockquote(text));
  }

  override list(text: string) {
    return this.#nested(() => super.list(text));
  }

  override emStrong(text: string, masked: string, before?: string) {
    return this.#nested(() => super.emStrong(text, masked, before));
  }

  override del(text: string, masked: string, before?: string) {
    return this.#nested(() => super.del(text, masked, before));
  }

  override link(text: string) {
    return safeLink(this.#nested(() => super.link(text)));
  }

  override autolink(text: string) {
    // `marked` allows it inside of a link.
    return this.lexer.state.inLink ? undefined : safeLink(super.autolink(text));
  }

  override url(text: string) {
    return safeLink(super.url(text));
  }

  /** `marked` drops the cells of a row that have no head, so such a table gets more heads. */
  override table(text: string) {
    const [head = "", delimiter = ""] = text.split("\n", 2);
    if (!head.includes("|") || !/^[ \t|:-]+$/.test(delimiter)) return undefined;
    const lines = text.split("\n").length;
    if (cellCount(head) * lines > EXPORT_TABLE_CELLS_MAX) return undefined;
    const table = super.table(text);
    if (table === undefined) return undefined;
    const rows = table.raw.split("\n").slice(2);
    const missing = Math.max(0, ...rows.map(cellCount)) - table.header.length;
    if (missing <= 0) return table;
    if (missing * lines > EXPORT_TABLE_CELLS_MAX) return undefined;
    const widened = [widen(head, " |", missing), widen(delimiter, "-|", missing), ...rows];
    const wider = super.table(widened.join("\n"));
    return wider && { ...wider, raw: table.raw };
  }

  /** Ends the nesting before it overflows the stack: what is deeper is text. */
  #nested<Found>(read: () => Found): Found | undefined {
    if (this.#depth >= EXPORT_NESTING_MAX) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** A link that may be followed; all of another stays text, also where it would have led. */
function safeLink<Found extends Tokens.Link | Tokens.Image>(found: Found | undefined) {
  if (found?.type === "link" && safeAddress(found.href) === null) return undefined;
  return found;
}

function cellCount(row: string): number {
  return row.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").length;
}

function widen(row: string, cell: string, count: number): string {
  return row.trim().replace(/\|?$/, "|") + cell.repeat(count);
}

const OUR_LEVELS = 2;
const LEVELS_MAX = 6;

/** Escapes all text itself, and writes no attribute but those here. */
class EscapingRenderer extends Renderer {
  override heading({ tokens, depth }: Tokens.Heading): string {
    const level = Math.min(LEVELS_MAX, depth + OUR_LEVELS);
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
  }

  override code({ text }: Tokens.Code): string {
    return `<pre><code>${withEntities(text.trimEnd())}</code></pre>\n`;
  }

  override codespan({ text }: Tokens.Codespan): string {
    return `<code>${withEntities(text)}</code>`;
  }

  override listitem({ tokens }: Tokens.ListItem): string {
    return `<li>${this.parser.parse(tokens).trimEnd()}</li>\n`;
  }

  override checkbox({ checked }: Tokens.Checkbox): string {
    return checked ? "\u2611 " : "\u2610 ";
  }

  override table(table: Tokens.Table): string {
    return `<div class="wide">${super.table(table).trimEnd()}</div>\n`;
  }

  override tablecell({ tokens, header, align }: Tokens.TableCell): string {
    const tag = header ? "th" : "td";
    const sort = align === "right" || align === "center" ? ` class="${align}"` : "";
    return `<${tag}${sort}>${this.parser.parseInline(tokens)}</${tag}>`;
  }

  override br(): string {
    return "<br>\n";
  }

  /** Named links have their addresses beside them on paper; bare ones show them anyway. */
  override link({ href, text, tokens, autolink }: Tokens.Link): string {
    const address = withEntities(safeAddress(href) ?? "");
    const words = autolink === true ? withEntities(text) : this.parser.parseInline(tokens);
    const sort = autolink === true ? "bare" : "named";
    return `<a class="${sort}" href="${address}" rel="noopener noreferrer">${words || address}</a>`;
  }

  override image({ href, text }: Tokens.Image): string {
    // An image that is its own address is of no use to readers, and long.
    const parts = href.startsWith("data:") ? [text] : [text, href];
    return `<em>[image: ${withEntities(parts.filter((part) => part !== "").join(", "))}]</em>`;
  }

  override text(token: Tokens.Text | Tokens.Escape): string {
    if ("tokens" in token && token.tokens) return this.parser.parseInline(token.tokens);
    return withEntities(token.text).replaceAll("\n", "<br>\n");
  }
}
