// Extensions that become others while their session is live, with real threads.

import { describe, expect, it } from "vitest";
import type { ExtensionManifest } from "../../extension/manifest.ts";
import { type Hand, Stage, value } from "../stage.fixture.ts";
import { TestExtensions } from "./extensions.fixture.ts";

/** Keeps a list of the tools that were called, by its version. */
function listing(version: string): string {
  return `return { hooks: { after_tool_call: ({ title }) =>
    slots.set([...(slots.get() ?? []), "${version} " + title]) },
    migrate: ({ value }) => ({ version: "2.0.0", value: [...value, "migrated"] }) };`;
}

function lister(change: Partial<ExtensionManifest> = {}): Partial<ExtensionManifest> {
  return { hooks: ["after_tool_call"], ...change };
}

async function withLister(change: Partial<ExtensionManifest> = {}) {
  const extensions = new TestExtensions();
  extensions.add("lister", listing("v1"), lister(change));
  const stage = await Stage.open({ extensions: extensions.world });
  return { extensions, stage, hand: await stage.created({ securityMode: "yolo" }) };
}

async function slotOf({ world }: Stage, { live }: Hand): Promise<unknown> {
  const { slots } = value(await world.store.readSlots(live.key));
  const slot = slots.find(({ owner }) => owner === "lister");
  return slot === undefined ? null : JSON.parse(Buffer.from(slot.payload).toString());
}

/** What the session says of its reloads. */
function told({ events }: Hand) {
  return events.flatMap(({ type, data }) => (type === "extensions_reloaded" ? [data] : []));
}

describe("a live session whose extension has changed", () => {
  it("has the new one at once if no turn is running, with what the old one kept", async () => {
    const { extensions, stage, hand } = await withLister();
    await hand.turn("tool t1 title=one");
    extensions.add("lister", listing("v2"), lister());
    expect(value(await hand.live.reloadExtensions())).toEqual({
      ...{ reloaded: ["lister"], waiting: [], kept: [], skipped: [] },
    });
    await stage.until(() => told(hand).length > 0);
    expect(told(hand)).toMatchObject([{ reloaded: ["lister"], skipped: [] }]);
    await hand.turn("tool t2 title=two");
    expect(await slotOf(stage, hand)).toEqual(["v1 one", "v2 two"]);
  });

  it("has it when the turn has ended, unless it may be replaced in the middle of one", async () => {
    const { extensions, stage, hand } = await withLister();
    const verdict = hand.turn("tool t1 title=one", "question what now?");
    await hand.asked();
    extensions.add("lister", listing("v2"), lister());
    expect(value(await hand.live.reloadExtensions())).toMatchObject({ waiting: ["lister"] });
    expect(told(hand)).toEqual([]);
    await hand.say("cancel", {});
    await verdict;
    await stage.until(() => told(hand).length > 0);
    await hand.turn("tool t2 title=two");
    expect(await slotOf(stage, hand)).toEqual(["v1 one", "v2 two"]);
  });

  it("keeps what one keeps in a turn in which it is replaced", async () => {
    const change = { reloadBehavior: "in-turn" } as const;
    const { extensions, stage, hand } = await withLister(change);
    const verdict = hand.turn("tool t1 title=one", "question what now?");
    await hand.asked();
    const stateSlot = { slotVersion: "2.0.0", schema: {}, driftPolicy: "migrate" } as const;
    extensions.add("lister", listing("v2"), lister({ ...change, stateSlot }));
    expect(value(await hand.live.reloadExtensions())).toMatchObject({ reloaded: ["lister"] });
    await hand.say("cancel", {});
    await verdict;
    expect(await slotOf(stage, hand)).toEqual(["v1 one", "migrated"]);
  });

  it("keeps the old one if that says never, and the audit has it", async () => {
    const { extensions, stage, hand } = await withLister({ reloadBehavior: "never" });
    extensions.add("lister", listing("v2"), lister({ reloadBehavior: "never" }));
    expect(value(await hand.live.reloadExtensions())).toMatchObject({ kept: ["lister"] });
    expect(told(hand)).toEqual([]);
    await hand.turn("tool t1 title=one");
    expect(await slotOf(stage, hand)).toEqual(["v1 one"]);
    const query = { journal: "audit", after: 0, limit: 100 } as const;
    const page = value(await stage.world.store.readJournal(hand.live.key.tenantId, query));
    expect(JSON.stringify(page)).toContain("extensions_reloaded");
  });

  it("P6: goes on without it if it does not come up any more, and keeps its slot", async () => {
    const { extensions, stage, hand } = await withLister();
    await hand.turn("tool t1 title=one");
    extensions.add("lister", "throw new Error('no');", lister());
    const reloaded = value(await hand.live.reloadExtensions());
    expect(reloaded.skipped).toMatchObject([{ name: "lister" }]);
    await stage.until(() => told(hand).length > 0);
    expect(told(hand)).toMatchObject([{ skipped: [{ name: "lister" }] }]);
    expect(await hand.turn("tool t2 title=two")).toMatchObject({ type: "turn_complete" });
    expect(await slotOf(stage, hand)).toEqual(["v1 one"]);
    extensions.remove("lister");
    await hand.live.reloadExtensions();
    const reason = "its owner is not here; it is kept as it is";
    expect(hand.live.skipped).toEqual([{ name: "lister", reason }]);
  });
});
