import type { Exported } from "../export.ts";
import { opening, passages } from "../narrator.ts";
import type { Passage, Speaker } from "../passage.ts";
import { passageHtml, sentenceHtml, speakerHtml, speakerOf } from "./passage.ts";
import { STYLE } from "./style.ts";
import { escaped } from "./text.ts";

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
  // Whoever reads this line knows that the file is whole.
  yield "<footer>End of the session.</footer>\n</main>\n</body>\n</html>\n";
}

/** A part begins with nobody; what is ours interrupts nobody. */
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
