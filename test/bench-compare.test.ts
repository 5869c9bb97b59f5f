import { describe, expect, it } from "vitest";
import { measureGroup } from "../bench/compare/compare.ts";
import { fermata, running } from "../bench/compare/contestant.ts";
import { readCompareOptions } from "../bench/compare/options.ts";
import { reportOf } from "../bench/compare/report.ts";
import { type Cell, cellsOf, noResults, withCells } from "../bench/compare/results.ts";
import { GROUP_NAMES, type GroupName, needs, rowsOf } from "../bench/compare/rows.ts";
import { COMPARE_TINY } from "../bench/compare/scale.ts";
import { markdownTable, textTable } from "../bench/compare/table.ts";
import { Misuse } from "../bench/misuse.ts";
import { ServerHome } from "../bench/wire-process.ts";

describe("the comparison of servers", () => {
  const server = { name: "Fermata", about: "a server of this test" };
  const figures = (...found: readonly number[]) => ({ figures: found, n: 200, spread: found });
  const create = cellsOf("create", "Fermata", {
    create: figures(3, 14),
    attach: figures(1),
    close: figures(2),
  });
  const none = cellsOf("start", "Fermata", { reason: "it is <not> ours" });
  const results = withCells(noResults(), server, [...create, ...none]);

  it("is a table with goals, which says how figures were had and why one is missing", () => {
    const lines = textTable(results).split("\n");
    expect(lines.slice(0, 6)).toEqual([
      "                                          goal         Fermata",
      "create a session, p50 / p99 (ms)      4.0 / 12  3.0 / 14 (200)",
      "attach, p50 (ms)                           1.2       1.0 (200)",
      "close, p50 (ms)                            2.5       2.0 (200)",
      "start to /health, p50 (ms)                 120               –",
      "start to the first session, p50 (ms)       300               –",
    ]);
    expect(lines).toContain("  close: DELETE of each session that was created, one after another.");
    expect(lines.at(-2)).toMatch(/start to the first session: .* has no figure: it is <not> ours/);
  });

  it("marks what is as good as its goal, in Markdown and in the report", () => {
    expect(markdownTable(results)).toContain("| attach, p50 (ms) | 1.2 | **1.0 (200)** |");
    expect(markdownTable(results)).toContain("| 4.0 / 12 | 3.0 / 14 (200) |");
    const report = reportOf(results);
    expect(report).toContain('<td class="met">1.0 (200)</td>');
    expect(report).toContain('<td class="missed">3.0 / 14 (200)</td>');
    expect(report).toContain("it is &lt;not&gt; ours");
    expect(report).not.toMatch(/<script|(?:src|href)=/);
  });

  it("keeps what was measured before and not again", () => {
    const again = cellsOf("create", "Fermata", { create: figures(5, 6) });
    const { cells, columns } = withCells(results, server, again);
    expect(columns).toHaveLength(1);
    expect(cells.filter(({ row }) => row === "create").map(({ found }) => found)).toEqual([
      figures(5, 6),
    ]);
    expect(cells).toHaveLength(results.cells.length);
  });

  it("takes servers by name and address, with tokens from files, and refuses the rest", () => {
    const options = readCompareOptions(["--rows", "load,create", "--against", "a=http://[::1]:1"]);
    expect(options).toMatchObject({
      groups: ["create", "load"],
      against: [{ name: "a", address: { host: "::1", port: 1, token: null } }],
    });
    const wrong = [
      ["--rows", "nonsense"],
      ["--against", "https://example.org"],
      ["--build", "/tmp"],
      ["--show"],
      ["--fast"],
    ];
    for (const args of wrong) expect(() => readCompareOptions(args), `${args}`).toThrow(Misuse);
  });

  it("measures every row of a server that it starts, and what it can of one that runs", {
    timeout: 120_000,
  }, async () => {
    const home = new ServerHome(COMPARE_TINY);
    await home.open();
    const there = await home.start("--agent", "streaming-keeping");
    try {
      const address = { host: "127.0.0.1", port: there.port, token: null };
      const own = fermata(COMPARE_TINY.server, { name: "own", root: null });
      const cells: Cell[] = [];
      for (const name of GROUP_NAMES) {
        const both = [...(needs(name, "process") ? [own] : []), running("there", address)];
        for await (const [, found] of measureGroup(name, both, COMPARE_TINY)) cells.push(...found);
      }
      const reasons = cells.flatMap(({ row, found }) => ("reason" in found ? [row] : []));
      const measured = cells.filter(({ found }) => !("reason" in found));
      const processRows = GROUP_NAMES.filter((name) => needs(name, "process")).flatMap(rowIdsOf);
      expect(reasons).toEqual(processRows);
      expect(rowIdsBy(measured, "own")).toEqual(processRows);
      expect(new Set([...rowIdsBy(measured, "there"), ...processRows, "restarted"])).toEqual(
        new Set(GROUP_NAMES.flatMap(rowIdsOf)),
      );
      expect(rowIdsBy(measured, "floor").length).toBeGreaterThan(10);
      expect(JSON.stringify(measured)).not.toMatch(/null/);
      const health = await fetch(`http://127.0.0.1:${there.port}/health?deep=1`);
      expect(await health.json()).toMatchObject({ connectedClients: 0, activePrompts: 0 });
    } finally {
      await there.end("SIGTERM", "SIGINT");
      await home.close();
    }
  });
});

function rowIdsOf(name: GroupName): readonly string[] {
  return rowsOf(name).map(({ id }) => id);
}

function rowIdsBy(cells: readonly Cell[], server: string): readonly string[] {
  return cells.filter((cell) => cell.server === server).map(({ row }) => row);
}
