import { instant } from "../narrator.ts";
import type {
  Failure,
  Part,
  Passage,
  ShellCommand,
  Speaker,
  ToolCall,
  Word,
  Words,
} from "../passage.ts";
import { shownText, toolDetails } from "../tool-details.ts";
import { proseHtml } from "./prose.ts";
import { escaped } from "./text.ts";

/** A passage as HTML. Who speaks stands above, by `speakerHtml`. */
export function passageHtml(passage: Passage): string {
  switch (passage.kind) {
    case "part":
      return partHtml(passage);
    case "said":
      return saidHtml(passage.by, proseHtml(passage.markdown));
    case "attached":
      return saidHtml(passage.by, `<p><em>[${escaped(passage.name)}]</em></p>`);
    case "meanwhile":
      return passage.markdowns.map((text) => saidHtml("user", proseHtml(text))).join("\n");
    case "thought":
      return folded("thought", "Thought", proseHtml(passage.markdown));
    case "tool":
      return toolHtml(passage);
    case "shell":
      return shellHtml(passage);
    case "fact":
      return `<p class="fact"><b>${escaped(passage.about)}</b> ${sentenceHtml(passage.words)}</p>`;
    case "sentence":
      return `<p class="fact">${sentenceHtml(passage.words)}</p>`;
    case "note":
      return `<p class="note">${escaped(passage.text)}</p>`;
    case "failure":
      return failureHtml(passage);
  }
}

/** Whose passage it is; null if it is nobody's, and ours. */
export function speakerOf(passage: Passage): Speaker | null {
  if (passage.kind === "said" || passage.kind === "attached") return passage.by;
  if (passage.kind === "meanwhile") return "user";
  return passage.kind === "tool" || passage.kind === "thought" ? "agent" : null;
}

export function speakerHtml(speaker: Speaker, isMeanwhile: boolean): string {
  if (speaker === "agent") return '<p class="who agent">Agent</p>';
  return `<p class="who user">User${isMeanwhile ? ", meanwhile" : ""}</p>`;
}

export function sentenceHtml(words: Words): string {
  return words.map(wordHtml).join("");
}

function wordHtml(word: Word): string {
  if (typeof word === "string") return escaped(word);
  return "code" in word ? codeHtml(word.code) : `<bdi>${escaped(word.plain)}</bdi>`;
}

const codeHtml = (text: string) => `<code>${escaped(text)}</code>`;

function partHtml({ number, atMs, isContinued }: Part): string {
  const when = `<span class="when">${isContinued ? "continued " : ""}${instant(atMs)}</span>`;
  return `<h2${isContinued ? "" : ` id="turn-${number}"`}>${number} ${when}</h2>`;
}

function saidHtml(by: Speaker, html: string): string {
  return `<div class="said ${by}">\n${html}\n</div>`;
}

function folded(sort: string, summary: string, html: string): string {
  return `<details class="${sort}"><summary>${summary}</summary>\n${html}\n</details>`;
}

function toolHtml({ name, sort, status, update }: ToolCall): string {
  const outcome = status === "failed" ? "bad" : status === "completed" ? "good" : "open";
  const end = status === null ? "" : ` <span class="end ${outcome}">${escaped(status)}</span>`;
  const what = `<b>${escaped(sort ?? "tool")}</b> ${codeHtml(name)}${end}`;
  const details = toolDetails(update).map(({ label, text, end: exit }) => {
    return textHtml(exit === null ? label : `${label}, ${exit}`, text);
  });
  if (details.length === 0) return `<p class="tool">${what}</p>`;
  return folded("tool", what, details.join("\n"));
}

function shellHtml({ command, output, end }: ShellCommand): string {
  const outcome = end === "exit code 0" ? "good" : "bad";
  const ended = `<span class="end ${outcome}">${escaped(end)}</span>`;
  const what = `<b>shell</b> ${codeHtml(command)} ${ended}`;
  return folded("tool", what, textHtml("Output", `$ ${command}\n${output}`));
}

/** A text as it is, with a label above; the end of a very long one is left out. */
function textHtml(label: string, text: string): string {
  const { shown, note } = shownText(text);
  const rest = note === null ? "" : `\n<p class="note">${note}</p>`;
  const caption = `<p class="label">${escaped(label)}</p>`;
  return `${caption}\n<pre>\n${escaped(shown)}</pre>${rest}`;
}

function failureHtml({ code, message, isPartial }: Failure): string {
  const partial = isPartial ? " What was said above is not all." : "";
  const why = `${codeHtml(code)} <bdi>${escaped(message)}</bdi>`;
  return `<p class="failure"><strong>Failed</strong> ${why}${partial}</p>`;
}
