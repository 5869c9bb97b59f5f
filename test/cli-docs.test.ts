// docs/cli.md and the table of commands say the same.

import { describe, expect, it } from "vitest";
import { helpOf } from "../src/cli/table/help.ts";
import type { CommandRow } from "../src/cli/table/row.ts";
import { commandWords, ROWS } from "../src/cli/table/table.ts";
import { CLI_PAGE, withCommands } from "./house/cli-page.ts";
import { readText } from "./house/files.ts";

const rows: readonly CommandRow[] = ROWS;

describe("the table of commands", () => {
  it("is what docs/cli.md shows; node scripts/cli-page.ts writes it", async () => {
    const page = readText(CLI_PAGE);
    expect(await withCommands(page)).toBe(page);
  });

  it("has each word once", () => {
    const words = commandWords();
    expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
  });

  it.each(rows)("explains $name within 100 columns, with an option for each word", async (row) => {
    const help = await helpOf(row);
    expect(help.split("\n").filter((line) => line.length > 100)).toEqual([]);
    const shorts = Object.values(row.options).flatMap(({ short }) => short ?? []);
    expect(new Set(shorts).size).toBe(shorts.length);
    expect(row.line).toMatch(/^[A-Z].{8,70}\.$/);
  });

  it.each(rows)("has only options in the usage of $name that there are", (row) => {
    const named = [...row.usage.join(" ").matchAll(/--([a-z-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !Object.hasOwn(row.options, name))).toEqual([]);
  });
});
