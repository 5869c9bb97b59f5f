import { parseSync } from "oxc-parser";
import { lineOf } from "./syntax.ts";

const DOC_COLUMNS_MAX = 160;

/** Pronouns that hide who acts: the client, the agent, the server, the operator. */
const VAGUE = /\b(?:whoever|somebody|nobody|anybody|everybody|whatever)\b/i;

/** How earlier comments cited documents that are not in the repository. */
const ABSENT = [
  /\bwire,? \d/i,
  /\bseeds? 00\d/i,
  /\bdesign, sections? \d/i,
  /\bdesign \d/i,
  /\b[AB]\d{1,2}(?:\.\d{1,2}\b|(?=[:,;)]))/,
];

/** Each line of a comment with a pronoun that hides who acts, as `line 3: WORD`. */
export function vagueComments(path: string, text: string): readonly string[] {
  return commentLines(path, text).flatMap(({ line, content }) => {
    const [word] = VAGUE.exec(content) ?? [];
    return word === undefined ? [] : [`line ${line}: ${word}`];
  });
}

/** Each line, also of a test's title, that cites a document which is not here. */
export function absentCitations(text: string): readonly string[] {
  return text.split("\n").flatMap((content, index) => {
    const cited = ABSENT.flatMap((pattern) => pattern.exec(content)?.[0] ?? []);
    return cited.slice(0, 1).map((citation) => `line ${index + 1}: ${citation}`);
  });
}

/** The numbers of the lines of a page that are too long to be read in a diff. */
export function longDocLines(text: string): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const columns = [...line].length;
    return columns > DOC_COLUMNS_MAX ? [`line ${index + 1}: ${columns} columns`] : [];
  });
}

function commentLines(path: string, text: string) {
  return parseSync(path, text, { sourceType: "module" }).comments.flatMap(({ start, value }) => {
    const first = lineOf(text, start);
    return value.split("\n").map((content, index) => ({ line: first + index, content }));
  });
}
