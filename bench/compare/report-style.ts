/** For light and for dark. Without colours, series are told apart by their order and names. */
export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --ink: #1d1f23; --faint: #63676f; --line: #e2e0db;
  --met: #0a7a4b; --missed: #b3402a; --goal: #1d1f23;
  --s0: #a9adb5; --s1: #2f62d9; --s2: #d98014; --s3: #0d9488; --s4: #9b4dca; --s5: #c2417c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14161a; --card: #1c1f25; --ink: #e8e9ec; --faint: #9aa0aa; --line: #30343c;
    --met: #4cc38a; --missed: #f0907c; --goal: #e8e9ec;
    --s0: #646a75; --s1: #7aa2ff; --s2: #f0a94b; --s3: #3fc7b8; --s4: #c792ea; --s5: #f07fb0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1220px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 36px 0 4px; }
h3 { font-size: 14px; margin: 0 0 8px; }
.faint { color: var(--faint); font-size: 13px; }
.legend { list-style: none; padding: 0; font-size: 13px; color: var(--faint); }
.legend b { color: var(--ink); }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 7px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: 14px; }
th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child { text-align: left; font-weight: 500; }
thead th { color: var(--faint); font-weight: 500; }
.met { color: var(--met); font-weight: 600; }
.missed { color: var(--missed); }
.met::after { content: " ✓"; } .missed::after { content: " ✗"; }
.cards { display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 16px 4px; }
svg { display: block; width: 100%; height: auto; margin-bottom: 6px; }
svg text { font-size: 11px; fill: var(--ink); }
svg text.faint { fill: var(--faint); font-size: 10.5px; }
.value { font-variant-numeric: tabular-nums; }
.goal { stroke: var(--goal); stroke-width: 1.2; stroke-dasharray: 3 2.5; opacity: 0.75; }
.grid { stroke: var(--line); }
.curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.key.s0 { background: var(--s0); } rect.s0 { fill: var(--s0); } .curve.s0 { stroke: var(--s0); }
.key.s1 { background: var(--s1); } rect.s1 { fill: var(--s1); } .curve.s1 { stroke: var(--s1); }
.key.s2 { background: var(--s2); } rect.s2 { fill: var(--s2); } .curve.s2 { stroke: var(--s2); }
.key.s3 { background: var(--s3); } rect.s3 { fill: var(--s3); } .curve.s3 { stroke: var(--s3); }
.key.s4 { background: var(--s4); } rect.s4 { fill: var(--s4); } .curve.s4 { stroke: var(--s4); }
.key.s5 { background: var(--s5); } rect.s5 { fill: var(--s5); } .curve.s5 { stroke: var(--s5); }
`;
