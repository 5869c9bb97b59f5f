// The commands in docs/cli.md, from the rows of their table.

import { EXIT_WORDS } from "../../src/cli/table/exit-codes.ts";
import { helpOf, overview } from "../../src/cli/table/help.ts";
import { COMMAND_GROUPS, type CommandRow } from "../../src/cli/table/row.ts";
import { ROWS } from "../../src/cli/table/table.ts";

export const CLI_PAGE = "docs/cli.md";

const BEGIN = "<!-- Written by `node scripts/cli-page.ts`: begin -->";
const END = "<!-- Written by `node scripts/cli-page.ts`: end -->";

/** The page with the commands as the table has them. */
export async function withCommands(page: string): Promise<string> {
  const [before, rest] = split(page, BEGIN);
  const [, after] = split(rest, END);
  const rows: readonly CommandRow[] = ROWS;
  const ordered = COMMAND_GROUPS.flatMap((group) => rows.filter((row) => row.group === group));
  const sections = await Promise.all(ordered.map(section));
  const all = [exitCodes(), block(overview()), ...sections].join("\n\n");
  return `${before}${BEGIN}\n\n${all}\n\n${END}${after}`;
}

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${CLI_PAGE} has lost the mark ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

async function section(row: CommandRow): Promise<string> {
  return `### fermata ${row.name}\n\n${row.line}\n\n${block(await helpOf(row))}`;
}

function exitCodes(): string {
  const rows = Object.entries(EXIT_WORDS).map(([code, words]) => `| ${code} | ${words} |`);
  return [
    "| Exit code | Means |",
    "|---|---|",
    "| 0 | done |",
    "| 2 | the command line is wrong |",
    ...rows,
  ].join("\n");
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
