/** How the document looks: by day, by night, on a phone and on paper. */
export const STYLE = `:root {
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
