// The tables of ACP in docs/agents.md, from the rows of the source.

import * as rows from "../../src/wire/acp-coverage.ts";

export const ACP_PAGE = "docs/agents.md";

const BEGIN = "<!-- Written by `node scripts/acp-table.ts`: begin -->";
const END = "<!-- Written by `node scripts/acp-table.ts`: end -->";

const TABLES = [
  ["Calls to the agent", rows.AGENT_METHOD_COVERAGE],
  ["Calls of the agent", rows.CLIENT_METHOD_COVERAGE],
  ["Session updates", rows.UPDATE_COVERAGE],
  ["Announced to the agent", rows.CLIENT_CAPABILITY_COVERAGE],
  ["Announced by the agent", rows.AGENT_CAPABILITY_COVERAGE],
] as const;

/** The page with the tables as the source has them. */
export function withAcpTables(page: string): string {
  const [before, rest] = split(page, BEGIN);
  const [, after] = split(rest, END);
  return `${before}${BEGIN}\n\n${TABLES.map(table).join("\n\n")}\n\n${END}${after}`;
}

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${ACP_PAGE} has lost the mark ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function table([title, coverage]: (typeof TABLES)[number]): string {
  const lines = Object.entries(coverage).map(([name, row]) => {
    const [sign, text] = "does" in row ? ["✓", row.does] : ["✗", row.refuses];
    return `| \`${name}\` | ${sign} | ${text} |`;
  });
  return [`| ${title} | | |`, "|---|---|---|", ...lines].join("\n");
}
