import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { startOf } from "../../platform/process-identity.ts";
import type { RunningProcess } from "./process-table.ts";
import { killTrees, membersOf, type ProcessTree, subMarker } from "./process-tree.ts";

const MARKED: ProcessTree = {
  marker: "m",
  leader: { pid: 100, startedAt: "50" },
  seen: [],
  mayStillStart: false,
  since: "50",
};

function running(said: Partial<RunningProcess> & { pid: number }): RunningProcess {
  return {
    parent: 1,
    group: said.pid,
    startedAt: "60",
    ...{ marker: null, isBlank: false, isHidden: false },
    ...said,
  };
}

function pids(all: readonly RunningProcess[], marked = MARKED): readonly number[] {
  return membersOf(marked, all).map(({ pid }) => pid);
}

describe("P5: to an agent belongs", () => {
  it("who carries its mark, and nobody with another or none", () => {
    const others = [running({ pid: 2, marker: "n" }), running({ pid: 3 })];
    expect(pids([...others, running({ pid: 4, marker: "m" })])).toEqual([4]);
  });

  it("who carries its mark with a name behind it, as the commands of a session do", () => {
    const one = running({ pid: 4, marker: subMarker("m", "one") });
    const other = running({ pid: 5, marker: subMarker("m", "other") });
    expect(pids([one, other, running({ pid: 6, marker: "mo" })])).toEqual([4, 5]);
    const part = { ...MARKED, marker: subMarker("m", "one"), leader: null };
    expect(pids([one, other], part)).toEqual([4]);
  });

  it("the process that was written down, if it is the same and not only of the same number", () => {
    expect(pids([running({ pid: 100, startedAt: "50" })])).toEqual([100]);
    expect(pids([running({ pid: 100, startedAt: "51" })])).toEqual([]);
  });

  it("its group, as long as somebody in it proves that it is the same group", () => {
    const member = running({ pid: 101, group: 100 });
    expect(pids([running({ pid: 100, startedAt: "50" }), member])).toEqual([100, 101]);
    expect(pids([running({ pid: 102, group: 100, marker: "m" }), member])).toEqual([102, 101]);
    expect(pids([member])).toEqual([]);
  });

  it("whatever these have started, over all generations and in any order", () => {
    const all = [
      running({ pid: 9, parent: 8 }),
      running({ pid: 8, parent: 7 }),
      running({ pid: 7, marker: "m" }),
    ];
    expect(pids(all)).toEqual([7, 8, 9]);
  });

  it("who was seen with it earlier", () => {
    const marked = { ...MARKED, seen: [{ pid: 5, startedAt: "60" }] };
    expect(pids([running({ pid: 5 })], marked)).toEqual([5]);
    expect(pids([running({ pid: 5, startedAt: "61" })], marked)).toEqual([]);
  });

  it("never this server, nor those above it, though an agent may have started them", () => {
    const shell = running({ pid: 1_000, marker: "m" });
    const own = running({ pid: process.pid, parent: 1_000, marker: "m" });
    const child = running({ pid: 2_000, parent: process.pid });
    expect(pids([shell, own, child])).toEqual([]);
  });
});

describe("P5: a pid that has another process since the listing", () => {
  /** Shows one process of the agent, and then none. */
  function listedOnce(found: RunningProcess) {
    const listings = [[found]];
    return { list: async () => listings.shift() ?? [] };
  }

  it("is not killed: the start time is looked at again right before", async () => {
    const stranger = spawn("sleep", ["600"], { stdio: "ignore" });
    const pid = stranger.pid ?? expect.fail();
    const exit = once(stranger, "exit");
    const startedAt = startOf(pid) ?? expect.fail();
    const earlier = running({ pid, startedAt: `${Number(startedAt) - 1}`, marker: "m" });
    const spared = await killTrees([MARKED], 0, listedOnce(earlier));
    expect(spared).toEqual({ count: 0, cleared: [MARKED] });
    expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
    // The same process under its own start time is killed.
    const found = running({ pid, startedAt, marker: "m" });
    expect((await killTrees([MARKED], 0, listedOnce(found))).count).toBe(1);
    expect(await exit).toEqual([null, "SIGKILL"]);
  });
});
