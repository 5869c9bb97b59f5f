import { createHash } from "node:crypto";
import { type AnswerHeaders, html, type WholeText } from "../http/answer.ts";

/** Text that is markup already; all other text is escaped on its way into a page. */
export interface Markup {
  readonly markup: string;
}

type Piece = string | number | Markup | readonly Markup[];

/** Puts markup together. Every value but markup is escaped. */
export function markup(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  const parts = texts.flatMap((text, at) => [text, textOf(pieces[at] ?? "")]);
  return { markup: parts.join("") };
}

function textOf(piece: Piece): string {
  if (typeof piece === "string" || typeof piece === "number") return escaped(`${piece}`);
  return "markup" in piece ? piece.markup : piece.map((one) => one.markup).join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A whole page, without scripts and without anything from elsewhere. */
export function page(status: number, title: string, body: Markup): WholeText {
  const { markup: text } = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ markup: STYLE }}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
  return html(status, text, HEADERS);
}

const STYLE = `
:root {
  color-scheme: light dark;
  --back: #fbfaf8; --text: #23211e; --soft: #6b665e;
  --line: #e4e0d9; --box: #f3f0ea; --mark: #9a3b1d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #171614; --text: #e9e5de; --soft: #a49d92;
    --line: #35322d; --box: #211f1c; --mark: #f0946f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
header { display: flex; gap: 1rem; align-items: center; margin-bottom: 1.5rem; }
header svg { width: 3.25rem; height: auto; flex: none; color: var(--mark); }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; }
h1 small { font-size: 1rem; font-weight: 400; color: var(--soft); }
h2 { margin: 2.25rem 0 .5rem; font-size: 1.1rem; }
header p, .soft { margin: 0; color: var(--soft); }
a { color: var(--mark); }
code, pre { font: .875rem/1.6 ui-monospace, Menlo, Consolas, monospace; }
pre { margin: .5rem 0; padding: .8rem 1rem; overflow-x: auto; border: 1px solid var(--line);
  border-radius: .5rem; background: var(--box); }
table { width: 100%; border-collapse: collapse; }
td { padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
tr:first-child td { border-top: 0; }
td.count { width: 2.5rem; text-align: right; font-variant-numeric: tabular-nums; }
td.name { width: 7.5rem; white-space: nowrap; font-weight: 600; }
td.soft { color: var(--soft); }
h3 { margin: 1.5rem 0 .25rem; font-size: 1rem; overflow-wrap: anywhere; }
h4 { margin: .75rem 0 .25rem; font-size: .875rem; color: var(--soft); }
nav { columns: 18rem; column-gap: 2rem; }
nav h3 { margin-top: .75rem; break-after: avoid; }
ul.routes { margin: 0; padding: 0; list-style: none; font-size: .875rem; }
ul.routes a, ul.routes b { text-decoration: none; overflow-wrap: anywhere; }
ul.routes b, .method { font-size: .75rem; letter-spacing: .03em; color: var(--soft); }
article { padding: .25rem 0 1rem; border-top: 1px solid var(--line); }
article p { margin: .25rem 0; }
:target { background: var(--box); }
.fields td { overflow-wrap: anywhere; font-size: .9rem; }
.fields td:first-child { width: 30%; }
.fields td:nth-child(2) { width: 30%; }
dl { display: grid; grid-template-columns: 2.75rem 1fr; margin: .75rem 0 0; font-size: .9rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  main { padding-top: 1.75rem; }
  td.name { width: auto; }
  .fields tr { display: block; padding: .35rem 0; border-top: 1px solid var(--line); }
  .fields td, .fields td:nth-child(n) { display: inline; border: 0; }
}
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

const HEADERS: AnswerHeaders = {
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
};
