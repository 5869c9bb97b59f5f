import { describe, expect, it } from "vitest";
import type { SessionKey } from "../../store/store.ts";
import { SessionHost } from "../host.ts";
import { ada, NEVER, turn, withSession } from "../runtime.fixture.ts";
import { Stage, value } from "../stage.fixture.ts";
import { TestExtensions } from "./extensions.fixture.ts";

/** Counts the turns of a session. */
const COUNTER = `return { event: ({ data }) => {
  if (data.event === "SessionTurnStart") slots.set((slots.get() ?? 0) + 1);
} };`;

function withCounter(): TestExtensions {
  const extensions = new TestExtensions();
  extensions.add("counter", COUNTER, { events: ["session_lifecycle"] });
  return extensions;
}

/** What a session has in the slot of an owner. */
async function slotOf({ world }: Stage, key: SessionKey, owner: string) {
  const { slots } = value(await world.store.readSlots(key));
  const slot = slots.find((one) => one.owner === owner);
  return slot === undefined ? null : JSON.parse(Buffer.from(slot.payload).toString());
}

const ABSENT = { name: "counter", reason: "its owner is not here; it is kept as it is" };

describe("the slot of an extension", () => {
  it("P1: is stored with a turn, survives restarts and is there again after a resume", async () => {
    const extensions = withCounter();
    const stage = await Stage.open({ extensions: extensions.world });
    const { runtime, key, live } = await withSession(stage);
    expect(await slotOf(stage, key, "counter")).toBeNull();
    await turn(live, "say hello");
    expect(await slotOf(stage, key, "counter")).toBe(1);
    await runtime.shutDown(NEVER);

    const next = await Stage.open({ folder: stage.folder, extensions: extensions.world });
    const host = new SessionHost(next.world);
    const { live: again } = value(await host.resume(key, ada));
    await turn(again, "say again");
    expect(again.skipped).toEqual([]);
    expect(await slotOf(next, key, "counter")).toBe(2);
    await host.shutDown(NEVER);
  });

  it("P6: is carried forward, and listed, while its owner is not here", async () => {
    const extensions = withCounter();
    const stage = await Stage.open({ extensions: extensions.world });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hello");
    await runtime.shutDown(NEVER);

    extensions.remove("counter");
    const without = await Stage.open({ folder: stage.folder, extensions: extensions.world });
    const host = new SessionHost(without.world);
    const { live: again } = value(await host.resume(key, ada));
    expect(again.skipped).toEqual([ABSENT]);
    await turn(again, "say again");
    expect(await slotOf(without, key, "counter")).toBe(1);
    await host.shutDown(NEVER);

    // It is back, and a prompt wakes the session.
    const third = await Stage.open({ folder: stage.folder, extensions: withCounter().world });
    const last = new SessionHost(third.world);
    const woken = value(await last.find(key));
    await turn(woken, "say more");
    expect(woken.skipped).toEqual([]);
    expect(await slotOf(third, key, "counter")).toBe(2);
    await last.shutDown(NEVER);
  });

  it.each([
    ["that it rejects", "reject", ""],
    ["whose migration has the wrong version", "migrate", `migrate: (old) => old,`],
    ["whose migration throws", "migrate", `migrate() { throw new Error("no"); },`],
    ["that it takes for NaN", "warn", `init() { slots.set(NaN); },`],
    ["and keeps a function", "warn", `init() { slots.set({ f() {} }); },`],
  ] as const)("P6: of another version %s is as it was when that is back", async (...row) => {
    const [, driftPolicy, functions] = row;
    const extensions = withCounter();
    const stage = await Stage.open({ extensions: extensions.world });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hello");
    await runtime.shutDown(NEVER);

    const stateSlot = { slotVersion: "2.0.0", schema: {}, driftPolicy };
    const newer = new TestExtensions();
    newer.add("counter", `return { ${functions} };`, { stateSlot });
    const drifted = await Stage.open({ folder: stage.folder, extensions: newer.world });
    const host = new SessionHost(drifted.world);
    const { live: again } = value(await host.resume(key, ada));
    expect(again.skipped).toMatchObject([{ name: "counter" }]);
    await turn(again, "say again");
    expect(await slotOf(drifted, key, "counter")).toBe(1);
    await host.shutDown(NEVER);

    const back = await Stage.open({ folder: stage.folder, extensions: withCounter().world });
    const last = new SessionHost(back.world);
    const { live: third } = value(await last.resume(key, ada));
    expect(third.skipped).toEqual([]);
    await turn(third, "say more");
    expect(await slotOf(back, key, "counter")).toBe(2);
    await last.shutDown(NEVER);
  });

  it("P6: is kept while its owner depends on a circle, or on nothing there", async () => {
    const extensions = withCounter();
    const stage = await Stage.open({ extensions: extensions.world });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hello");
    await runtime.shutDown(NEVER);
    const circle = new TestExtensions();
    circle.add("counter", COUNTER, { dependsOn: { other: "*" } });
    circle.add("other", "return {};", { dependsOn: { counter: "*" } });
    circle.add("lonely", "return {};", { dependsOn: { nobody: "*" } });
    const next = await Stage.open({ folder: stage.folder, extensions: circle.world });
    const host = new SessionHost(next.world);
    const { live: again } = value(await host.resume(key, ada));
    expect(again.skipped.map(({ name }) => name)).toEqual(["counter", "lonely", "other"]);
    await turn(again, "say again");
    expect(await slotOf(next, key, "counter")).toBe(1);
    await host.shutDown(NEVER);
  });
});
