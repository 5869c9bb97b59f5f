import { escaped, proseHtml } from "./html-text.ts";
import {
  type ChildPassage,
  type FailurePassage,
  instant,
  opening,
  type Passage,
  type PromptPassage,
  passages,
  type ShellPassage,
  type Speaker,
  type ToolPassage,
  type Word,
  type Words,
} from "./narration.ts";
import type { Exported } from "./source.ts";
import { shownText, toolDetails } from "./tool-details.ts";

/**
 * A session as one HTML file that needs nothing else and does nothing: no scripts, no images, no
 * forms. Should anything in it ever be taken for markup, the policy in its head keeps it idle.
 */
export async function* htmlDocument(exported: Exported) {
  const { title, words } = opening(exported.record);
  yield headHtml(escaped(title));
  yield `<header>\n<h1>${escaped(title)}</h1>\n<p>${sentenceHtml(words)}</p>\n</header>\n`;
  let speaker: Speaker | null = null;
  for await (const passage of passages(exported)) {
    const next = nextSpeaker(speaker, passage);
    if (next !== null && (next !== speaker || passage.kind === "meanwhile")) {
      yield `${speakerHtml(next, passage.kind === "meanwhile")}\n`;
    }
    speaker = next;
    yield `${passageHtml(passage)}\n`;
  }
  // This line shows a reader that the file is whole.
  yield "<footer>End of the session.</footer>\n</main>\n</body>\n</html>\n";
}

/** A part begins without a speaker; what Fermata writes does not interrupt one. */
function nextSpeaker(speaker: Speaker | null, passage: Passage): Speaker | null {
  return passage.kind === "part" ? null : (speakerOf(passage) ?? speaker);
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

function headHtml(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
${STYLE}</style>
</head>
<body>
<main>
`;
}

/** A passage as HTML. Who speaks stands above, by `speakerHtml`. */
function passageHtml(passage: Passage): string {
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
    case "child":
      return childHtml(passage);
    case "failure":
      return failureHtml(passage);
  }
}

/** All of a child stands apart from its parent, folded. */
function childHtml({ title, agent, task, passages, end }: ChildPassage): string {
  const ended = end === null ? "" : ` — ${escaped(end.state)}`;
  const why = end?.message ? [`<p class="note">${escaped(end.message)}</p>`] : [];
  const told = [saidHtml("user", proseHtml(task)), ...passages.map(passageHtml), ...why];
  const summary = `Child ${codeHtml(title)} (${escaped(agent)})${ended}`;
  return `<details class="child"><summary>${summary}</summary>\n${told.join("\n")}\n</details>`;
}

/** Returns who speaks in a passage; null for what Fermata writes. */
function speakerOf(passage: Passage): Speaker | null {
  if (passage.kind === "said" || passage.kind === "attached") return passage.by;
  if (passage.kind === "meanwhile") return "user";
  return passage.kind === "tool" || passage.kind === "thought" ? "agent" : null;
}

function speakerHtml(speaker: Speaker, isMeanwhile: boolean): string {
  if (speaker === "agent") return '<p class="who agent">Agent</p>';
  return `<p class="who user">User${isMeanwhile ? ", meanwhile" : ""}</p>`;
}

function sentenceHtml(words: Words): string {
  return words.map(wordHtml).join("");
}

function wordHtml(word: Word): string {
  if (typeof word === "string") return escaped(word);
  return "code" in word ? codeHtml(word.code) : `<bdi>${escaped(word.plain)}</bdi>`;
}

const codeHtml = (text: string) => `<code>${escaped(text)}</code>`;

function partHtml({ number, atMs, isContinued }: PromptPassage): string {
  const when = `<span class="when">${isContinued ? "continued " : ""}${instant(atMs)}</span>`;
  return `<h2${isContinued ? "" : ` id="turn-${number}"`}>${number} ${when}</h2>`;
}

function saidHtml(by: Speaker, html: string): string {
  return `<div class="said ${by}">\n${html}\n</div>`;
}

function folded(sort: string, summary: string, html: string): string {
  return `<details class="${sort}"><summary>${summary}</summary>\n${html}\n</details>`;
}

function toolHtml({ name, sort, status, update }: ToolPassage): string {
  const outcome = status === "failed" ? "bad" : status === "completed" ? "good" : "open";
  const end = status === null ? "" : ` <span class="end ${outcome}">${escaped(status)}</span>`;
  const what = `<b>${escaped(sort ?? "tool")}</b> ${codeHtml(name)}${end}`;
  const details = toolDetails(update).map(({ label, text, end: exit }) => {
    return textHtml(exit === null ? label : `${label}, ${exit}`, text);
  });
  if (details.length === 0) return `<p class="tool">${what}</p>`;
  return folded("tool", what, details.join("\n"));
}

function shellHtml({ command, output, end }: ShellPassage): string {
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

function failureHtml({ code, message, isPartial }: FailurePassage): string {
  const partial = isPartial ? " What was said above is not all." : "";
  const why = `${codeHtml(code)} <bdi>${escaped(message)}</bdi>`;
  return `<p class="failure"><strong>Failed</strong> ${why}${partial}</p>`;
}

/** How the document looks: by day, by night, on a phone and on paper. */
const STYLE = `:root {
  color-scheme: light dark;
  --paper: #ffffff;
  --ink: #1f2328;
  --faint: #636c76;
  --line: #d8dee4;
  --shade: #f4f6f8;
  --user: #0b62c4;
  --user-shade: #eaf3fd;
  --agent: #7a3fc2;
  --good: #1a7f37;
  --bad: #c21f2c;
  --bad-shade: #fdeeee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c;
    --ink: #dde3ea;
    --faint: #939dab;
    --line: #323a45;
    --shade: #1d2229;
    --user: #73b3ff;
    --user-shade: #17273b;
    --agent: #c29bff;
    --good: #57c26f;
    --bad: #ff8a86;
    --bad-shade: #3a1c1f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  overflow-wrap: anywhere;
}
main { max-width: 50rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { margin: 0 0 .4rem; font-size: 1.75rem; line-height: 1.25; }
h2 {
  display: flex;
  gap: .6rem;
  align-items: baseline;
  margin: 2.75rem 0 1rem;
  padding-top: .9rem;
  border-top: 1px solid var(--line);
  font-size: 1.1rem;
}
h3, h4, h5, h6 { margin: 1.2rem 0 .5rem; line-height: 1.3; }
h3 { font-size: 1.2rem; }
h4 { font-size: 1.08rem; }
h5, h6 { font-size: 1rem; }
header p, .when, .fact, .note, .label, footer { color: var(--faint); font-size: .875rem; }
.when { font-weight: normal; }
header p, .fact, .note { margin: 0 0 .75rem; }
p, li, th, td, h1, h3, h4, h5, h6, pre { unicode-bidi: plaintext; }
code, bdi { unicode-bidi: isolate; }
.said p, .said ul, .said ol, .thought p { margin: .6rem 0; }
ul, ol { padding-inline-start: 1.6rem; }
li > ul, li > ol { margin: 0; }
li { margin: .15rem 0; }
.who {
  margin: 1.25rem 0 .35rem;
  font-size: .75rem;
  font-weight: 700;
  letter-spacing: .06em;
  text-transform: uppercase;
}
.who.user { color: var(--user); }
.who.agent { color: var(--agent); }
.said.user {
  margin: 0 0 .6rem;
  padding: .15rem 1rem;
  border-inline-start: 3px solid var(--user);
  border-radius: 0 .4rem .4rem 0;
  background: var(--user-shade);
}
.said.agent { margin: 0 0 .6rem; }
.who + .said > :first-child { margin-top: .35rem; }
a { color: var(--user); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
code { padding: .1em .3em; border-radius: .25rem; background: var(--shade); font-size: .875em; }
pre {
  margin: .6rem 0;
  padding: .75rem 1rem;
  border: 1px solid var(--line);
  border-radius: .4rem;
  background: var(--shade);
  font-size: .8125rem;
  line-height: 1.5;
  white-space: pre-wrap;
  tab-size: 4;
}
pre code { padding: 0; background: none; font-size: inherit; }
blockquote {
  margin: .6rem 0;
  padding-inline-start: 1rem;
  border-inline-start: 3px solid var(--line);
  color: var(--faint);
}
hr { margin: 1.25rem 0; border: 0; border-top: 1px solid var(--line); }
.wide { margin: .6rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: .9375rem; }
th, td { padding: .3rem .7rem; border: 1px solid var(--line); text-align: start; }
th { background: var(--shade); }
.right { text-align: end; }
.center { text-align: center; }
.tool, .thought {
  margin: .4rem 0;
  border: 1px solid var(--line);
  border-radius: .4rem;
  font-size: .875rem;
}
p.tool, summary { padding: .35rem .75rem; }
summary { cursor: pointer; }
.thought > summary { color: var(--faint); }
.thought[open], .tool[open] { padding: 0 .75rem .5rem; }
[open] > summary { margin: 0 -.75rem .25rem; border-bottom: 1px solid var(--line); }
.tool b, .fact b { color: var(--faint); font-weight: 600; }
.label { margin: .6rem 0 .2rem; }
.tool pre { margin: .2rem 0 .6rem; }
.end { font-weight: 600; }
.end.open { color: var(--faint); }
.end.good { color: var(--good); }
.end.bad, .failure strong { color: var(--bad); }
.failure {
  margin: .75rem 0;
  padding: .6rem 1rem;
  border-inline-start: 3px solid var(--bad);
  border-radius: 0 .4rem .4rem 0;
  background: var(--bad-shade);
}
footer { margin-top: 3rem; padding-top: .9rem; border-top: 1px solid var(--line); }
@media print {
  body { background: none; font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, h4, h5, h6, .who, .label { break-after: avoid; }
  pre, blockquote, tr, .failure, p.tool { break-inside: avoid-page; }
  p, li { orphans: 3; widows: 3; }
  .said.user, .failure, pre, th { print-color-adjust: exact; }
  a.named::after { content: " (" attr(href) ")"; font-size: .85em; }
}
`;
