import type { Exported } from "./export.ts";
import { codeSpan, fenced, inline, prose, quoted } from "./markdown-text.ts";
import { instant, opening, passages } from "./narrator.ts";
import type { Failure, Part, Passage, Speaker, ToolCall, Word, Words } from "./passage.ts";
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
    case "failure":
      return failureLine(passage);
  }
}

function headingLine({ number, atMs, isContinued }: Part): string {
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

function toolLine({ name, sort, status }: ToolCall): string {
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

function failureLine({ code, message, isPartial }: Failure): string {
  const partial = isPartial ? " What was said above is not all." : "";
  return `**Failed** (${codeSpan(code)}): ${inline(message)}${partial}`;
}
