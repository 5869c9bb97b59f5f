import { describe, expect, it, vi } from "vitest";
import type { AgentSession } from "../../agent/agent.ts";
import type { SessionId, TurnId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail } from "../../core/result.ts";
import { CORE_SLOT } from "../../core/session/slot.ts";
import { UNFINISHED_FORK } from "../../core/session/visibility.ts";
import type { BackwardRange, Range, SessionKey, SessionStore } from "../../store/index.ts";
import { reconcileStaleSessions } from "../life/recovery.ts";
import { replayOf } from "../replay.ts";
import { ANYBODY, echo, finishedShown, type Hand, Stage, TENANT, value } from "../stage.fixture.ts";
import { SETTINGS } from "../world.fixture.ts";
import { type Forked, type ForkOptions, forkSession } from "./fork.ts";
import { deleteUnfinishedForks } from "./fork-draft.ts";
import { bound } from "./side.fixture.ts";

const LAST: ForkOptions = { actor: ANYBODY, turnId: null, name: null, agent: null };

async function forked(hand: Hand, order: Partial<ForkOptions> = {}): Promise<Forked> {
  const made = await forkSession(hand.stage.world, hand.live, { ...LAST, ...order });
  return value(made) ?? expect.fail("there is no such turn");
}

/** The turns of a session that were completed, in order. */
function turnsOf(hand: Hand): readonly TurnId[] {
  return hand.events
    .flatMap(({ type, data }) => (type === "turn_complete" ? [data.turnId] : []))
    .filter((turnId) => turnId !== undefined);
}

async function messagesOf(store: SessionStore, sessionId: SessionId) {
  const key = { tenantId: TENANT, sessionId };
  return value(await store.readMessages(key, { after: 0, limit: 1_000 })).rows;
}

async function talked(options: Parameters<typeof Stage.open>[0] = {}, ...turns: string[]) {
  const stage = await Stage.open(options);
  const hand = await stage.created({ displayName: "Rome" });
  for (const turn of turns) await hand.turn(turn);
  return { stage, hand, store: stage.world.store };
}

describe("a fork", () => {
  it("goes on from the conversation after its turn; the other goes on as well", async () => {
    const { stage, hand, store } = await talked({}, "I am Ada.", "say two", "say three");
    const [, second] = turnsOf(hand);
    const { key } = await forked(hand, { turnId: second ?? null });
    const messages = await messagesOf(store, hand.sessionId);
    expect(await messagesOf(store, key.sessionId)).toEqual(messages.slice(0, 4));
    const fork = await stage.opened(key.sessionId);
    await fork.turn("recall");
    expect(fork.text).toContain("User: I am Ada.");
    expect(fork.text).toContain("You: two");
    expect(fork.text).not.toContain("three");
    await hand.turn("recall");
    expect(hand.text).toContain("I remember 3 turns");
    expect(await messagesOf(store, key.sessionId)).toHaveLength(6);
    expect(await messagesOf(store, hand.sessionId)).toHaveLength(8);
  });

  it("P3: has a log and an epoch of its own, and a replay that shows its past", async () => {
    const { stage, hand, store } = await talked({}, "say one", "tool kind=read\nsay two");
    await hand.turn("fail -32603 no");
    await hand.turn("say three");
    await hand.turn("say four");
    const [, , third] = turnsOf(hand);
    const { key } = await forked(hand, { turnId: third ?? null });
    const record = value(await store.readRecord(key));
    expect(record.epoch).not.toBe(hand.live.epoch);
    const turns = value(await store.readTurns(key, { before: record.lastEventId + 1, limit: 100 }));
    const log = turns.rows.toReversed().flatMap(({ text }): LogEvent[] => JSON.parse(text));
    const ids = log.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(new Set(log.map(({ data }) => data.sessionId))).toEqual(new Set([key.sessionId]));
    // No client has seen its past, so none comes back to it: who asks is told to load.
    const { events, earliestEventId } = value(await store.readEvents(key, { after: 0, limit: 9 }));
    expect([events[0]?.id, events.at(-1)?.id]).toEqual([earliestEventId, record.lastEventId]);
    expect(earliestEventId).toBeGreaterThan(ids.at(-1) ?? 0);
    const order = { through: record.lastEventId, mode: "full", bounds: SETTINGS.replay } as const;
    const replay = value(await replayOf(stage.world, key, order));
    const shown = finishedShown(replay).flatMap(({ type, data }) => {
      if (type !== "session_update") return [type];
      const { sessionUpdate, content } = data.update;
      return [`${sessionUpdate} ${Object(content).text ?? ""}`];
    });
    expect(shown).toEqual([
      "session_created",
      "user_message_chunk say one",
      "agent_message_chunk one",
      "turn_complete",
      "user_message_chunk tool kind=read\nsay two",
      expect.stringMatching(/^tool_call/),
      "agent_message_chunk two",
      "turn_complete",
      "user_message_chunk fail -32603 no",
      "prompt_cancelled",
      "turn_error",
      "user_message_chunk say three",
      "agent_message_chunk three",
      "turn_complete",
    ]);
    const fork = await stage.opened(key.sessionId);
    expect(fork.events).toEqual([]);
  });

  it("is set as the other is now, and is nobody's shared session", async () => {
    const stage = await Stage.open();
    const hand = await stage.created({ scope: "single", approvalMode: "auto-edit" });
    await hand.turn("say one");
    await hand.say("model", { change: { modelId: "echo-2" } });
    const { key } = await forked(hand);
    const { live } = await stage.opened(key.sessionId);
    const { fixed, chosen, totals } = hand.live.session;
    expect(live.session).toMatchObject({
      phase: "Closed",
      fixed: {
        scope: "thread",
        securityMode: fixed.securityMode,
        workspaceCwd: fixed.workspaceCwd,
        source: { type: "branch", id: hand.sessionId },
        parentSessionId: hand.sessionId,
      },
      chosen: { ...chosen, displayName: "say one (Branch)", titleSource: "manual" },
      totals: { ...totals, promptCount: 0, turnsCompleted: 1 },
    });
    const record = value(await stage.world.store.readRecord(key));
    expect(record).toMatchObject({ closed: false, shared: false, status: "inactive" });
  });

  it("is announced in the other, with its name", async () => {
    const { stage, hand } = await talked({}, "say one");
    const first = await forked(hand);
    const { sessionId } = hand;
    expect(first.displayName).toBe("Rome (Branch)");
    expect(first.forkedFrom).toEqual({ sessionId, displayName: "Rome" });
    expect((await forked(hand)).displayName).toBe("Rome (Branch 2)");
    const named = await forked(hand, { name: " Carthage " });
    expect(named.displayName).toBe("Carthage");
    const told = hand.events.filter(({ type }) => type === "session_branched");
    expect(told).toHaveLength(3);
    expect(told[2]?.data).toEqual({
      sessionId,
      sourceSessionId: sessionId,
      newSessionId: named.key.sessionId,
      displayName: "Carthage",
    });
    const listed = await stage.world.store.list(
      TENANT,
      { parentSessionId: sessionId },
      { limit: 10, cursor: null },
    );
    expect(value(listed).sessions).toHaveLength(3);
  });

  it("can be forked again, and outlives the one it was made from", async () => {
    const { stage, hand, store } = await talked({}, "I am Ada.");
    const first = await stage.opened((await forked(hand)).key.sessionId);
    await first.turn("say more");
    const { key } = await forked(first);
    await stage.registry.evict(hand.live, "idle_timeout");
    value(await store.delete(hand.live.key, stage.world.holder, []));
    const second = await stage.opened(key.sessionId);
    await second.turn("recall");
    expect(second.text).toMatch(/User: I am Ada\..*You: more/s);
  });

  it("P6: goes on from its manifest when its snapshot cannot be read", async () => {
    const { stage, hand } = await talked({}, "I am Ada.", "say two");
    const { key } = await forked(hand);
    const broken = await Stage.open({
      folder: stage.folder,
      wrap: (store) =>
        bound(store, (name, own) => {
          if (name !== "open") return own;
          return async (...args: Parameters<SessionStore["open"]>) => {
            const opened = value(await store.open(...args));
            const slots = opened.slots.filter(({ owner }) => owner !== CORE_SLOT.owner);
            return { ok: true, value: { ...opened, slots } };
          };
        }),
    });
    const fork = await broken.opened(key.sessionId);
    expect(fork.live.session.chosen.displayName).toBe("Rome (Branch)");
    expect(await fork.turn("say more")).toMatchObject({ type: "turn_complete" });
    expect(await messagesOf(stage.world.store, key.sessionId)).toHaveLength(6);
  });

  it("P10: is made of pages, and of turns in pieces, however much there is", async () => {
    const paged = (store: SessionStore) =>
      bound(store, (name, own) => {
        if (name === "readTurns") {
          return (key: SessionKey, range: BackwardRange) =>
            store.readTurns(key, { ...range, limit: 2 });
        }
        if (name !== "readMessages") return own;
        return (key: SessionKey, range: Range) => store.readMessages(key, { ...range, limit: 3 });
      });
    const long = "chunks 15 100k\nthink a\nchunks 15 100k\nthink b\nchunks 5 10";
    const turns = ["say 1", long, ...[3, 4, 5, 6, 7, 8].map((n) => `say ${n}`)];
    const { stage, hand, store } = await talked({ wrap: paged }, ...turns);
    const { key } = await forked(hand, { turnId: turnsOf(hand).at(-3) ?? null });
    const read = stage.world.store;
    const all = [];
    for (let after = 0; after < 12; after += 3) {
      all.push(...value(await read.readMessages(key, { after, limit: 3 })).rows);
    }
    expect(all.map(({ text }) => JSON.parse(text).role)).toEqual(
      Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? "user" : "assistant")),
    );
    expect(value(await store.readRecord(key))).toMatchObject({ messageCount: 12, turnCount: 7 });
    const fork = await stage.opened(key.sessionId);
    await fork.turn("recall");
    expect(fork.text).toMatch(/You: 6/);
    expect(fork.text).not.toMatch(/You: 7/);
  });
});

describe("the agent of a fork", () => {
  /** The agent sessions that were connected, in order. */
  function watched(stage: Stage): () => Promise<AgentSession> {
    const connect = vi.spyOn(stage.world.agents, "connect");
    return async () => value((await connect.mock.results[0]?.value) ?? expect.fail());
  }

  it("P6: remembers by itself where it can copy what it knows, and is told where not", async () => {
    for (const [flags, says] of [
      [[], "I remember 2 turns; last you said"],
      [["--no-fork"], "I remember 0 turns"],
    ] as const) {
      const stage = await Stage.open({ profiles: new Map([echo(...flags)]) });
      const agent = watched(stage);
      const hand = await stage.created();
      await hand.turn("I am Ada.");
      await hand.turn("say two");
      const { key } = await forked(hand, { agent: await agent() });
      const fork = await stage.opened(key.sessionId);
      await fork.turn("recall");
      expect(fork.text).toContain(says);
      expect(fork.text).toContain(flags.length === 0 ? '"say two"' : "User: I am Ada.");
    }
  });

  it("is told when the agent knows more than the fork has", async () => {
    const stage = await Stage.open();
    const agent = watched(stage);
    const hand = await stage.created();
    await hand.turn("I am Ada.");
    await hand.turn("say two");
    const [first] = turnsOf(hand);
    const earlier = await forked(hand, { agent: await agent(), turnId: first ?? null });
    await hand.turn("fail -32603 no");
    const failed = await forked(hand, { agent: await agent() });
    const promptId = await hand.prompt("say half", "hang");
    await stage.until(() => hand.text.endsWith("half"));
    const running = await forked(hand, { agent: await agent() });
    await hand.say("cancel", {});
    await hand.verdict(promptId);
    for (const { key } of [earlier, failed, running]) {
      const fork = await stage.opened(key.sessionId);
      await fork.turn("recall");
      expect(fork.text).toMatch(/^I remember 0 turns.*User: I am Ada/s);
      expect(fork.text).not.toContain("half");
    }
  });

  it("is told when a turn came before the agent had made its copy", async () => {
    const stage = await Stage.open();
    const agent = watched(stage);
    const hand = await stage.created();
    await hand.turn("I am Ada.");
    const own = await agent();
    const slow = bound(own, (name, method) => {
      if (name !== "fork") return method;
      return async () => {
        await hand.turn("say later");
        return own.fork();
      };
    });
    const { key } = await forked(hand, { agent: slow });
    const fork = await stage.opened(key.sessionId);
    await fork.turn("recall");
    expect(fork.text).toMatch(/^I remember 0 turns.*User: I am Ada/s);
    expect(fork.text).not.toContain("later");
  });
});

describe("there is no fork", () => {
  const everything = async ({ world }: Stage) =>
    value(await world.store.list(TENANT, {}, { limit: 100, cursor: null })).sessions.map(
      ({ sessionId }) => sessionId,
    );

  it("of a conversation that has not begun, or has no such turn", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const fork = (order: Partial<ForkOptions>) =>
      forkSession(stage.world, hand.live, { ...LAST, ...order });
    expect(value(await fork({}))).toBeNull();
    await hand.turn("fail -32603 no");
    expect(value(await fork({}))).toBeNull();
    await hand.turn("say one");
    expect(value(await fork({ turnId: stage.world.ids.turn() }))).toBeNull();
    const failed = hand.events.find(({ type }) => type === "turn_error");
    if (failed?.type !== "turn_error") expect.fail();
    expect(value(await fork({ turnId: failed.data.turnId ?? null }))).toBeNull();
    expect(await everything(stage)).toEqual([hand.sessionId]);
  });

  it("with a name that no session can have", async () => {
    const { stage, hand } = await talked({}, "say one");
    const made = await forkSession(stage.world, hand.live, { ...LAST, name: "x".repeat(257) });
    expect(made).toMatchObject({ refusal: { code: "invalid_metadata" } });
    expect(await everything(stage)).toEqual([hand.sessionId]);
  });

  it.each([0, 1, 2, 3, 4])(
    "P1, P5: left half-made by a store that fails at its write number %i, or it is there whole",
    async (failAt) => {
      let writes = Number.NEGATIVE_INFINITY;
      const { stage, hand } = await talked(
        {
          wrap: (store) =>
            bound(store, (name, own) => {
              if (name !== "create" && name !== "copyPast" && name !== "commit") return own;
              writes += 1;
              return writes === failAt + 1
                ? async () => fail("store_unavailable", { reason: "pulled out" })
                : own;
            }),
        },
        "say one",
        "say two",
      );
      writes = 0;
      const made = await forkSession(stage.world, hand.live, LAST);
      const left = await everything(stage);
      const told = hand.events.filter(({ type }) => type === "session_branched");
      expect(left).toHaveLength(made.ok ? 2 : 1);
      expect(told).toHaveLength(made.ok ? 1 : 0);
      expect(made.ok).toBe(failAt === 4);
    },
  );

  it("P5: left half-made by a server that was killed: the next one deletes it", async () => {
    let isDead = false;
    const { stage, hand } = await talked(
      {
        wrap: (store) =>
          bound(store, (name, own) => {
            if (!isDead || !["copyPast", "commit", "delete"].includes(name)) return own;
            return async () => fail("store_unavailable", { reason: "killed" });
          }),
      },
      "say one",
    );
    const { store } = stage.world;
    isDead = true;
    expect(await forkSession(stage.world, hand.live, LAST)).toMatchObject({ ok: false });
    const filter = { sourceType: UNFINISHED_FORK };
    const half = value(await store.list(TENANT, filter, { limit: 10, cursor: null }));
    expect(half.sessions).toMatchObject([{ closed: true }]);
    isDead = false;
    value(await reconcileStaleSessions(stage.world, stage.registry));
    expect(value(await deleteUnfinishedForks(stage.world))).toBe(1);
    expect(value(await deleteUnfinishedForks(stage.world))).toBe(0);
    expect(await everything(stage)).toEqual([hand.sessionId]);
  });
});
