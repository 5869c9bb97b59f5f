import {
  type ChildPassage,
  type FailurePassage,
  instant,
  opening,
  type Passage,
  type PromptPassage,
  passages,
  type Speaker,
  type ToolPassage,
  type Word,
  type Words,
} from "./narration.ts";
import type { Exported } from "./source.ts";
import { commandOutputs, shownText, type ToolDetail } from "./tool-details.ts";

/** A session as Markdown, for people who read it in an editor or put it into another text. */
export async function* markdown(exported: Exported) {
  const { title, words } = opening(exported.record);
  yield `# ${inline(title)}\n\n${sentence(words)}\n`;
  for await (const passage of passages(exported)) {
    const paragraph = paragraphOf(passage);
    if (paragraph !== null) yield `\n${paragraph}\n`;
  }
}

function paragraphOf(passage: Passage): string | null {
  switch (passage.kind) {
    case "part":
      return headingLine(passage);
    case "said":
      return by(passage.by, prose(passage.markdown));
    case "attached":
      return by(passage.by, emphasis(inline(`[${passage.name}]`)));
    case "meanwhile": {
      const messages = passage.markdowns.map((text) => by("user", prose(text)));
      return [emphasis("Said meanwhile:"), ...messages].join("\n\n");
    }
    case "thought":
      return null; // Markdown has nothing to fold it into, and thoughts are long.
    case "tool":
      return [toolLine(passage), ...commandOutputs(passage.update).map(outputText)].join("\n\n");
    case "shell": {
      const { command, output, end } = passage;
      return `${line("shell", inline(end))}\n\n${fenced(`$ ${command}\n${output}`)}`;
    }
    case "fact":
      return line(passage.about, sentence(passage.words));
    case "sentence":
      return sentence(passage.words);
    case "note":
      return emphasis(passage.text);
    case "child":
      return childText(passage);
    case "failure":
      return failureLine(passage);
  }
}

/** All of a child stands apart from its parent: in a quotation of its own. */
function childText({ title, agent, task, passages, end }: ChildPassage): string {
  const paragraphs = passages.flatMap((passage) => paragraphOf(passage) ?? []);
  const ended = end === null ? "" : ` — ${inline(end.state)}`;
  const why = end?.message ? [emphasis(inline(end.message))] : [];
  const told = [by("user", prose(task)), ...paragraphs, ...why].join("\n\n");
  return `${line("child", `${codeSpan(title)} (${inline(agent)})${ended}`)}\n\n${quoted(told)}`;
}

function headingLine({ number, atMs, isContinued }: PromptPassage): string {
  return `## ${number}. ${isContinued ? "continued " : ""}${instant(atMs)}`;
}

function by(speaker: Speaker, text: string): string {
  return speaker === "user" ? quoted(text) : text;
}

const emphasis = (text: string) => `*${text}*`;

/** A bullet that agents hardly ever use, so that a list of theirs does not go on into ours. */
const line = (about: string, text: string) => `+ **${about}** ${text}`;

function sentence(words: Words): string {
  return words.map(wordText).join("");
}

function wordText(word: Word): string {
  if (typeof word === "string") return word;
  return "code" in word ? codeSpan(word.code) : inline(word.plain);
}

function toolLine({ name, sort, status }: ToolPassage): string {
  const isFailed = status === "failed";
  const end = isFailed ? " — **failed**" : status === null ? "" : ` — ${inline(status)}`;
  return line("tool", `${codeSpan(name)}${sort === null ? "" : ` (${inline(sort)})`}${end}`);
}

/** What a command wrote, below how it ended. */
function outputText({ text, end }: ToolDetail): string {
  const { shown, note } = shownText(text);
  const ended = end === null ? [] : [line("output", inline(end))];
  const wrote = shown.trim() === "" ? [] : [fenced(shown)];
  return [...ended, ...wrote, ...(note === null ? [] : [emphasis(note)])].join("\n\n");
}

function failureLine({ code, message, isPartial }: FailurePassage): string {
  const partial = isPartial ? " What was said above is not all." : "";
  return `**Failed** (${codeSpan(code)}): ${inline(message)}${partial}`;
}

/**
 * Foreign text in a Markdown document. Nothing in it may reach beyond its block: not by an
 * unclosed fence, not by HTML, not by a heading that looks like one of ours.
 */

/** Writes a short text as code: its marks are longer than any inside. */
export function codeSpan(text: string): string {
  const line = oneLine(text);
  if (line === "") return "` `";
  const marks = "`".repeat(longestRun(line, "`") + 1);
  const padding = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${marks}${padding}${line}${padding}${marks}`;
}

/** A text as a block of code; the fence is longer than any inside. */
export function fenced(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, longestRun(text, "`") + 1));
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** A short text among our own words, with nothing in it that means anything in Markdown. */
export function inline(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>()#+\-!|~&.]/g, "\\$&");
}

/**
 * Writes a text that is Markdown itself, as agents write it. A self-contained text stands as it
 * is, with its headings below ours; if it might not, it is shown as it was written, in a fence.
 */
export function prose(text: string): string {
  const lines = text.split(/\r\n|\r|\n/);
  return isSelfContained(lines) ? lowered(lines).join("\n") : fenced(text, "markdown");
}

export function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function longestRun(text: string, mark: string): number {
  let longest = 0;
  let run = 0;
  for (const character of text) {
    run = character === mark ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

interface Fence {
  readonly indent: number;
  readonly marks: string;
}

/** The marks end where they end: else a long line of them could be read in very many ways. */
const FENCE_LINE = /^( *)(`{3,}|~{3,}(?!~))([^`]*)$/;

/** The fence that a line opens or closes; null if it is no such line. */
export function fenceIn(line: string): (Fence & { readonly info: string }) | null {
  if (!line.includes("```") && !line.includes("~~~")) return null;
  const [, indent, marks, info] = FENCE_LINE.exec(line) ?? [];
  if (indent === undefined || marks === undefined || info === undefined) return null;
  return { indent: indent.length, marks, info: info.trim() };
}

/**
 * Whether a text is plain enough for one quick look to be sure of it. It need not know all of
 * Markdown: what it does not understand it does not trust.
 */
function isSelfContained(lines: readonly string[]): boolean {
  let open: Fence | null = null;
  const outside: string[] = [];
  for (const line of lines) {
    const fence = fenceIn(line);
    if (open === null) {
      if (fence !== null) open = fence;
      else outside.push(line);
    } else if (fence !== null && closes(fence, open)) {
      open = null;
    } else if (open.indent > 0 && (HTML.test(line) || !reaches(line, open.indent))) {
      return false; // Inside a list perhaps, perhaps not: then the fence is none.
    }
  }
  return open === null && isPlain(outside);
}

function closes(fence: Fence & { readonly info: string }, open: Fence): boolean {
  return fence.info === "" && fence.indent === open.indent && fence.marks.startsWith(open.marks);
}

function reaches(line: string, indent: number): boolean {
  return line.trim() === "" || line.search(/\S/) >= indent;
}

const HTML = /<[A-Za-z/!?]/;
const AUTOLINK = /<(?:https?:\/\/|mailto:)[^\s<>]*>/g;

/** Lines outside of fences: no HTML but in code, and no code that one line leaves open. */
function isPlain(lines: readonly string[]): boolean {
  let isSure = true;
  let hasHtml = false;
  for (const line of lines) {
    if (!MARKS.test(line)) continue;
    const words = line.replaceAll(AUTOLINK, "");
    const bare = withoutCodeSpans(words);
    if (HTML.test(bare) || /```|~~~/.test(bare)) return false;
    if (bare.includes("`") || line.includes("\\`")) isSure = false;
    hasHtml ||= HTML.test(words);
  }
  return isSure || !hasHtml;
}

/** Most lines have none of these, and are not looked at any further. */
const MARKS = /[<`~]/;

/**
 * A line without what stands in code: from a run of backticks to the next one that is as long. The
 * next run of the same length is looked up for each run once, so the cost is that of the line,
 * also if no run ever meets its like.
 */
function withoutCodeSpans(line: string): string {
  if (!line.includes("`")) return line;
  const runs = [...line.matchAll(/`+/g)].map(({ index, 0: marks }) => ({
    from: index,
    to: index + marks.length,
  }));
  const later = new Map<number, number>();
  const partners: (number | undefined)[] = [];
  for (const [index, { from, to }] of [...runs.entries()].reverse()) {
    partners[index] = later.get(to - from);
    later.set(to - from, index);
  }
  let kept = "";
  let at = 0;
  for (let run = 0; run < runs.length; run += 1) {
    const partner = partners[run];
    if (partner === undefined) continue;
    kept += line.slice(at, runs[run]?.from);
    at = runs[partner]?.to ?? line.length;
    run = partner;
  }
  return kept + line.slice(at);
}

const OUR_LEVELS = 2;
const LEVELS_MAX = 6;

/** The same lines with their headings below those of the document. */
function lowered(lines: readonly string[]): readonly string[] {
  let open: Fence | null = null;
  return lines.map((line) => {
    const fence = fenceIn(line);
    if (fence !== null) {
      if (open === null) open = fence;
      else if (closes(fence, open)) open = null;
      return line;
    }
    if (open !== null) return line;
    return line.replace(/^( {0,3})(#{1,6})(?=\s|$)/, (_, indent: string, marks: string) => {
      return indent + "#".repeat(Math.min(LEVELS_MAX, marks.length + OUR_LEVELS));
    });
  });
}
