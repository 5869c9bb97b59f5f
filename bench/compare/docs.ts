import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../test/house/files.ts";
import type { Results } from "./results.ts";
import { markdownTable } from "./table.ts";

const PAGE = join(ROOT, "docs/benchmarks.md");
const BEGIN = "<!-- Written by `npm run bench -- compare --docs`: begin -->";
const END = "<!-- Written by `npm run bench -- compare --docs`: end -->";

/** The table of docs/benchmarks.md. */
export function writeDocs(results: Results): void {
  const page = readFileSync(PAGE, "utf8");
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error("docs/benchmarks.md has lost the marks of its table");
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${markdownTable(results)}\n\n${END}${after}`);
}
