import { describe, expect, it } from "vitest";
import { SessionHost } from "../host.ts";
import { ada, NEVER, turn, withSession } from "../runtime.fixture.ts";
import { echo, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";

const SLOT = { owner: "com.example.notes", version: "7", payload: Buffer.from("kept") };
const MACHINE = { smExtId: "com.example.flow", stateSlotRef: SLOT.owner };

/** A session with one turn, a slot of an owner that is not here, and a state machine. */
async function withAbsentOwner(stage: Stage) {
  const { runtime, key, live } = await withSession(stage);
  await turn(live, "say hello");
  await runtime.shutDown(NEVER);
  const { store, holder } = stage.world;
  const { term, record, manifest } = value(await store.open(key, holder, []));
  const snapshot = {
    expectedRevision: record.revision,
    manifest: { ...manifest, smState: MACHINE },
    messages: [],
    slots: [SLOT],
    removedSlots: [],
    trimThrough: 0,
  };
  const at = { afterEventId: record.lastEventId, events: [], journal: [] };
  value(await store.commit(key, term, { ...at, snapshot }));
  value(await store.close(key, term));
  return key;
}

const SKIPPED = [
  { name: SLOT.owner, reason: "its owner is not here; it is kept as it is" },
  {
    name: MACHINE.smExtId,
    reason: "no such state machine is here; its place in the session is kept",
  },
];

describe("waking a session", () => {
  it("P6: tells what was skipped when a prompt wakes it, in the log and the audit", async () => {
    const stage = await Stage.open();
    const key = await withAbsentOwner(stage);
    const { world } = await Stage.open({ folder: stage.folder });
    const next = new SessionHost(world);
    const live = value(await next.find(key));
    await turn(live, "say again");
    expect(live.session.lastTurnError).toBeNull();
    const { events } = value(await world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const resumed = events
      .map(({ text }) => JSON.parse(text))
      .filter(({ data }) => data.event === "SessionResumeStarted");
    expect(resumed.map(({ data }) => data.skipped)).toEqual([SKIPPED]);
    const query = { journal: "audit", sessionId: key.sessionId, after: 0, limit: 1_000 } as const;
    const { rows } = value(await world.store.readJournal(TENANT, query));
    expect(rows.filter(({ text }) => text.includes('"skippedCount":2'))).toHaveLength(1);
    await next.shutDown(NEVER);
  });

  it("P6: keeps the slot of an absent owner, and its state machine, also in a branch", async () => {
    const stage = await Stage.open();
    const key = await withAbsentOwner(stage);
    const { world } = await Stage.open({ folder: stage.folder });
    const next = new SessionHost(world);
    const live = value(await next.find(key));
    await turn(live, "say again");
    expect(live.session.lastTurnError).toBeNull();
    const forked = value(await next.side.fork(key, { actor: ada, turnId: null, name: null }));
    const { store } = world;
    for (const one of [key, { ...key, sessionId: forked?.key.sessionId ?? expect.fail() }]) {
      const { slots } = value(await store.readSlots(one));
      const kept = slots.find(({ owner }) => owner === SLOT.owner) ?? expect.fail("it is gone");
      expect([kept.version, Buffer.from(kept.payload).toString()]).toEqual(["7", "kept"]);
      expect(value(await store.readManifest(one)).smState).toEqual(MACHINE);
    }
    await next.shutDown(NEVER);
  });
});

describe("taking an agent down", () => {
  it("P4: that does not close its session leads over `error`, and ends all the same", async () => {
    const stage = await Stage.open({ profiles: new Map([echo("--fail-close")]) });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hello");
    value(await runtime.close(key, ada));
    const { events } = value(await stage.world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const steps = events
      .map(({ text }) => JSON.parse(text))
      .filter(({ type }) => type === "session_status")
      .map(({ data }) => `${data.from} -> ${data.to}`);
    expect(steps.slice(-3)).toEqual([
      "ready -> deactivating",
      "deactivating -> error",
      "error -> inactive",
    ]);
    await runtime.shutDown(NEVER);
  });
});

describe("a change that the tables do not have", () => {
  it("P4: is logged with its code and the states, and changes nothing", async () => {
    const stage = await Stage.open();
    const lines: object[] = [];
    const log = (what: string, about: object) => void lines.push({ what, ...about });
    const runtime = new SessionHost({ ...stage.world, log });
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const { live } = value(await runtime.create({ key, creation, actor: ada }));
    const { activation } = live.session;
    const before = live.lastEventId;
    const actor = { kind: "agent", activation } as const;
    for (let n = 0; n < 1_000; n += 1) {
      await live.submit({ type: "agent_status", atMs: 1, actor, status: "turn_started" });
    }
    expect(live.lastEventId).toBe(before);
    const states = { state: "ready", phase: "Idle", trigger: "turn_started" };
    const told = { what: "transition refused", code: "agent_out_of_turn", ...states };
    expect(lines[0]).toMatchObject({ ...told, sessionId: key.sessionId, count: 1 });
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.length).toBeLessThan(100);
    await runtime.shutDown(NEVER);
  });
});
