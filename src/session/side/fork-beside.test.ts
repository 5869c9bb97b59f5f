import { describe, expect, it } from "vitest";
import { refusal } from "../../core/error.ts";
import { SecretGuard, type SessionStore } from "../../store/index.ts";
import { recordOf } from "../actor/written.ts";
import { ANYBODY, type Hand, Stage, TENANT, value } from "../stage.fixture.ts";
import { TenantDisk } from "../tenant/tenant-disk.ts";
import { type ForkOptions, forkSession } from "./fork.ts";
import { bound } from "./side.fixture.ts";

const LAST: ForkOptions = { actor: ANYBODY, turnId: null, name: null, agent: null };

/** A stage on which something happens just before the first step that copies. */
async function talkedBefore(happens: (store: SessionStore, hand: Hand) => Promise<void>) {
  let told: Hand | null = null;
  const stage = await Stage.open({
    wrap: (store) =>
      bound(store, (name, own) => {
        if (name !== "copyPast" || typeof own !== "function") return own;
        return async (...args: readonly unknown[]) => {
          const hand = told;
          told = null;
          if (hand !== null) await happens(store, hand);
          return own(...args);
        };
      }),
  });
  const hand = await stage.created();
  await hand.turn("I am Ada.");
  await hand.turn("say two");
  told = hand;
  return { stage, hand };
}

async function everything({ world }: Stage) {
  const page = await world.store.list(TENANT, {}, { limit: 100, cursor: null });
  return value(page).sessions.map(({ sessionId }) => sessionId);
}

async function textsOf({ world }: Stage, sessionId: Hand["sessionId"]) {
  const key = { tenantId: TENANT, sessionId };
  const messages = value(await world.store.readMessages(key, { after: 0, limit: 1_000 })).rows;
  const before = value(await world.store.readRecord(key)).lastEventId + 1;
  const turns = value(await world.store.readTurns(key, { before, limit: 1_000 })).rows;
  return { messages: messages.map(({ text }) => text), turns: turns.map(({ text }) => text) };
}

describe("a branch", () => {
  it("has what was there when it was asked for, while its source goes on", async () => {
    const { stage, hand } = await talkedBefore(async (_, source) => {
      await source.turn("say three");
    });
    const made = value(await forkSession(stage.world, hand.live, LAST));
    const branch = await textsOf(stage, made?.key.sessionId ?? expect.fail());
    const source = await textsOf(stage, hand.sessionId);
    expect(branch.messages).toEqual(source.messages.slice(0, 4));
    expect(source.messages).toHaveLength(6);
    expect(branch.turns.join()).not.toContain("three");
  });

  it("P5: is not there if its source is deleted before it is whole", async () => {
    const { stage, hand } = await talkedBefore(async (store, { live }) => {
      value(await store.delete(live.key, stage.world.holder, []));
    });
    const made = await forkSession(stage.world, hand.live, LAST);
    expect(made).toMatchObject({ ok: false, refusal: { code: "session_not_found" } });
    expect(await everything(stage)).toEqual([]);
  });

  it("P8: is not made of another session that has got the id of its source", async () => {
    const { stage, hand } = await talkedBefore(async (store, { live }) => {
      const { holder } = stage.world;
      const manifest = value(await store.readManifest(live.key));
      const record = recordOf(live.session, Date.now());
      value(await store.delete(live.key, holder, []));
      const commit = { afterEventId: 0, events: [], journal: [] };
      value(await store.create(live.key, { holder, manifest, record, epoch: "anew", commit }));
    });
    const made = await forkSession(stage.world, hand.live, LAST);
    expect(made).toMatchObject({ ok: false, refusal: { code: "store_unavailable" } });
    expect(await everything(stage)).toEqual([hand.sessionId]);
  });

  it("is whole, and so is another that is made at the same time", async () => {
    const { stage, hand } = await talkedBefore(async () => {});
    const made = await Promise.all([1, 2].map(() => forkSession(stage.world, hand.live, LAST)));
    const ids = made.map((one) => value(one)?.key.sessionId ?? expect.fail());
    expect(new Set(ids).size).toBe(2);
    const source = await textsOf(stage, hand.sessionId);
    for (const id of ids) expect((await textsOf(stage, id)).messages).toEqual(source.messages);
  });

  it("P11: has no secret that became known after its source had it", async () => {
    const guard = new SecretGuard();
    const stage = await Stage.open({ guard, steps: { guard } });
    const hand = await stage.created({ displayName: "Rome" });
    await hand.turn("say nothing of it");
    await hand.turn("say swordfish-4711");
    value(guard.know("swordfish-4711"));
    const made = value(await forkSession(stage.world, hand.live, LAST));
    const { messages, turns } = await textsOf(stage, made?.key.sessionId ?? expect.fail());
    expect(messages).toHaveLength(4);
    expect([...messages, ...turns].join()).not.toContain("swordfish");
    expect(messages.at(-1)).toContain("[redacted]");
    expect(turns.join()).toContain("nothing of it");
  });

  it("P10: is not there if its tenant's share of the disk is used up meanwhile", async () => {
    const { stage, hand } = await talkedBefore(async () => {});
    let looks = 0;
    const look = {
      freeBytes: async () => null,
      usedBytes: async () => {
        looks += 1;
        return 50 * looks;
      },
    };
    const clock = { nowMs: () => 60_000 * (looks + 1) };
    const disk = new TenantDisk(look, { tenantBytesMax: 100, reserveBytes: 0 }, clock);
    expect(await disk.refusalFor(TENANT)).toBeNull();
    const made = await forkSession({ ...stage.world, disk }, hand.live, LAST);
    const full = refusal("disk_quota_exceeded", { usedBytes: 100, limitBytes: 100 });
    expect(made).toEqual({ ok: false, refusal: full });
    expect(await everything(stage)).toEqual([hand.sessionId]);
  });
});
