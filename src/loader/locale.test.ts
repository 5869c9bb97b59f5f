import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { type Tree, withTree } from "./tree.fixture.ts";

/** Loads a tree in a process of its own and prints the snapshot's text. */
const PROGRAM = `
  const { FilesLoader } = await import(process.argv[1]);
  const { canonicalJson } = await import(process.argv[2]);
  const [, , , bundled, userFolder, workspaceCwd] = process.argv;
  const loader = new FilesLoader({
    bundled,
    userFolder,
    platform: "linux", env: {}, tools: async () => [],
    reserved: new Set(),
    isTrusted: async () => true,
  });
  const loaded = await loader.skills({ tenantId: "tenant", workspaceCwd });
  const here = Intl.DateTimeFormat().resolvedOptions().locale;
  console.log(JSON.stringify({ here, text: canonicalJson(loaded.value) }));
`;

function loadUnder(locale: string, tree: Tree): { readonly here: string; readonly text: string } {
  const modules = ["./loader.ts", "../core/skill/snapshot.ts"];
  const args = [
    ...["--input-type=module", "-e", PROGRAM],
    ...modules.map((path) => new URL(path, import.meta.url).href),
    ...[tree.bundled, tree.userFolder, tree.workspace],
  ];
  const env = { ...process.env, LC_ALL: locale, LANG: locale, NODE_NO_WARNINGS: "1" };
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: "utf8" }));
}

describe("another locale", () => {
  it(
    "gives the same snapshot to the byte: Swedish sorts, and Turkish has another i",
    () =>
      withTree(async (tree) => {
        for (const name of ["z", "ö", "ä", "å", "o", "I", "ı", "x", "ij"]) {
          await tree.skill("user", name, `---\nsummary: ${name}\n---\n${name}`);
          await tree.skill("bundled", name.toUpperCase(), name);
        }
        const locales = ["C", "sv_SE.UTF-8", "tr_TR.UTF-8"];
        const loads = locales.map((locale) => loadUnder(locale, tree));
        expect(loads.map(({ here }) => here)).toEqual(["en-US", "sv-SE", "tr-TR"]);
        expect(new Set(loads.map(({ text }) => text)).size).toBe(1);
        expect(loads[0]?.text).toContain('"skill_name":"ö"');
      }),
    30_000,
  );
});
