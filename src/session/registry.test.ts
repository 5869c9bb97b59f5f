import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { parseClientId } from "../core/id.ts";
import { SESSIONS_LIVE_MAX } from "../core/limits.ts";
import { fail, ok } from "../core/result.ts";
import type { SessionStore } from "../store/index.ts";
import { altered } from "./altered-store.fixture.ts";
import { shutDown } from "./life/ending.ts";
import { reconcileStaleSessions } from "./life/recovery.ts";
import { SessionRegistry } from "./registry.ts";
import { echo, SERVER, Stage, TENANT, value } from "./stage.fixture.ts";
import { CREATION, NO_LOADER } from "./world.fixture.ts";

const NOW = new AbortController().signal;

describe("the session that a workspace shares", () => {
  it("is made once, however many ask for it at the same time", async () => {
    const stage = await Stage.open();
    const hands = await Promise.all([1, 2, 3].map(() => stage.created({ scope: "single" })));
    expect(new Set(hands.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(stage.registry.all).toHaveLength(1);
  });

  it("survives a restart: whoever asks for it then is given the same", async () => {
    const stage = await Stage.open();
    const hand = await stage.created({ scope: "single" });
    await hand.turn("My name is Ada.");
    await shutDown(stage.world, stage.registry, NOW);
    const after = await Stage.open({ folder: stage.folder });
    const again = await after.created({ scope: "single" });
    expect(again.sessionId).toBe(hand.sessionId);
    await again.turn("recall");
    expect(again.text).toContain("My name is Ada.");
  });

  it("that its clients have closed is not found again", async () => {
    const stage = await Stage.open();
    const hand = await stage.created({ scope: "single" });
    await hand.say("close", {});
    await hand.live.until(({ closed }) => closed);
    const next = await stage.created({ scope: "single" });
    expect(next.sessionId).not.toBe(hand.sessionId);
  });
});

describe("making a session", () => {
  it("P1: is one commit, with its maker, and a second when its agent is there", async () => {
    const writes: string[] = [];
    const noting =
      <Given extends readonly unknown[], Answer>(name: string, act: (...given: Given) => Answer) =>
      (...given: Given) => {
        writes.push(name);
        return act(...given);
      };
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          create: noting("create", (...given) => real.create(...given)),
          commit: noting("commit", (...given) => real.commit(...given)),
        }),
    });
    const sessionId = stage.world.ids.session();
    const clientId = parseClientId("client_1") ?? expect.fail();
    const actor = { kind: "client", clientId, userId: null, loopback: true } as const;
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const key = { tenantId: TENANT, sessionId };
    const request = { key, creation, actor, registersMaker: true };
    const { live } = value(await stage.registry.create(request));
    expect(writes).toEqual(["create", "commit"]);
    expect([...live.session.clients.keys()]).toEqual([clientId]);
    const { events } = value(await stage.world.store.readEvents(live.key, { after: 0, limit: 10 }));
    expect(events.map(({ text }) => JSON.parse(text).type)).toEqual([
      ...["session_created", "session_lifecycle", "client_attached", "session_status"],
      ...["agent_connected", "session_status"],
    ]);
    const audit = { journal: "audit", after: 0, limit: 10 } as const;
    const { rows } = value(await stage.world.store.readJournal(TENANT, audit));
    expect(rows.map(({ text }) => JSON.parse(text).act)).toEqual([
      ...["session_created", "session_lifecycle", "session_status"],
      ...["agent_connected", "session_status"],
    ]);
  });

  it("P7: takes the files once, and knows by that what is around its first agent", async () => {
    let looks = 0;
    const file = { name: "SOUL.md", source: "user", path: "SOUL.md", text: "be kind" } as const;
    const persona = async () => {
      looks += 1;
      return ok({ files: [file], diagnostics: [] });
    };
    const stage = await Stage.open({ loader: { ...NO_LOADER, persona } });
    const hand = await stage.created();
    const { chosen, surroundings } = hand.live.session;
    expect(surroundings?.persona).toBe(chosen.persona.hash);
    expect(looks).toBe(1);
    await hand.turn("crash");
    await hand.turn("say back");
    expect(looks).toBe(2);
  });

  it("leaves nothing behind if no agent can be had, and says why", async () => {
    const stage = await Stage.open({ profiles: new Map([echo("--exit-at-start", "3")]) });
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const hand = stage.created();
    await expect(hand).rejects.toThrow(/agent_exited_early/);
    const listed = value(await stage.world.store.list(TENANT, {}, { limit: 10, cursor: null }));
    expect(listed.sessions).toEqual([]);
    expect(stage.registry.peek(key)).toBeNull();
  });

  it("asks for its agent once, also if that fails in the same moment", async () => {
    const stage = await Stage.open();
    let asked = 0;
    const agents = {
      ...stage.world.agents,
      connect: async () => {
        asked += 1;
        return fail("agent_unknown", { agent: "echo" });
      },
    };
    const options = { join: () => [{}] as const, isWatched: () => false, unmade: () => {} };
    const registry = new SessionRegistry({ ...stage.world, agents }, options);
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const made = await registry.create({ key, creation, actor: SERVER });
    expect(made).toMatchObject({ refusal: { code: "agent_unknown" } });
    expect(asked).toBe(1);
  });

  it("P10: at the cap the oldest idle one makes room, and a busy one does not", async () => {
    const stage = await Stage.open();
    const hands = [];
    for (let n = 0; n < SESSIONS_LIVE_MAX; n += 1) hands.push(await stage.created());
    const [oldest] = hands;
    await stage.created();
    expect(stage.registry.all).toHaveLength(SESSIONS_LIVE_MAX);
    expect(oldest && stage.registry.peek(oldest.live.key)).toBeNull();
    for (const live of stage.registry.all) {
      await (await stage.opened(live.key.sessionId)).prompt("hang");
    }
    await expect(stage.created()).rejects.toThrow(/session_limit_exceeded/);
  });
});

describe("P10: at the cap", () => {
  it("those that come all at once are counted too", async () => {
    const stage = await Stage.open();
    const many = Array.from({ length: SESSIONS_LIVE_MAX + 5 }, () => stage.created());
    await Promise.allSettled(many);
    expect(stage.registry.all.length).toBeLessThanOrEqual(SESSIONS_LIVE_MAX);
    expect(stage.registry.all.length).toBeGreaterThan(0);
  });

  it("a stored session is opened if an idle one can go, and refused if none can", async () => {
    const stage = await Stage.open();
    const stored = await stage.created();
    for (let n = 0; n < SESSIONS_LIVE_MAX; n += 1) await stage.created();
    expect(stage.registry.peek(stored.live.key)).toBeNull();
    await stage.opened(stored.sessionId);
    expect(stage.registry.all).toHaveLength(SESSIONS_LIVE_MAX);
    await stage.registry.evict(stage.registry.all.at(-1) ?? expect.fail(), "evicted");
    await stage.created();
    for (const live of stage.registry.all) {
      await (await stage.opened(live.key.sessionId)).prompt("hang");
    }
    const refused = await stage.registry.get(stored.live.key);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "session_limit_exceeded" } });
  });
});

describe("a session that is being let go", () => {
  it("is opened anew by whoever asks for it meanwhile", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say one");
    const leaving = stage.registry.evict(hand.live, "idle_timeout");
    const again = await stage.opened(hand.sessionId);
    await leaving;
    const other = again.live === hand.live ? await stage.opened(hand.sessionId) : again;
    expect(await other.turn("say two")).toMatchObject({ type: "turn_complete" });
    expect(stage.registry.all).toEqual([other.live]);
  });
});

describe("a session that is leaving and stays after all", () => {
  it("P5: keeps its place though another is made under its id, which is refused", async () => {
    const stage = await Stage.open();
    const { live } = await stage.created();
    const released = Promise.withResolvers<boolean>();
    vi.spyOn(live, "release").mockReturnValueOnce(released.promise);
    const leaving = stage.registry.release(live);
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const again = stage.registry.create({ key: live.key, creation, actor: SERVER });
    released.resolve(false);
    expect(await leaving).toBe(false);
    expect(await again).toMatchObject({ refusal: { code: "session_id_conflict" } });
    expect(stage.registry.peek(live.key)).toBe(live);
  });
});

describe("a store that fails", () => {
  it("P1, P2: takes nothing back that was told; it goes on from what is stored", async () => {
    const fault = { isNext: false };
    const stage = await Stage.open({ wrap: (store) => failing(store, fault) });
    const hand = await stage.created();
    await hand.turn("say fine");
    const promptId = await hand.prompt("chunks 50 100", "ask", "chunks 50 100", "hang");
    await hand.asked();
    fault.isNext = true;
    await hand.agree();
    expect(await hand.verdict(promptId)).toMatchObject({ data: { code: "STORE_FAILURE" } });
    expect(stage.interruptions).toHaveLength(1);
    expect(await hand.turn("say again")).toMatchObject({ type: "turn_complete" });
    const page = await stage.world.store.readEvents(hand.live.key, { after: 0, limit: 1_000 });
    const stored = value(page).events.map(({ text }) => JSON.parse(text));
    expect(stored.slice(-hand.events.length)).toEqual(hand.events);
  });
});

/** The same store, of which one commit never arrives: its outcome is unknown. */
function failing(store: SessionStore, fault: { isNext: boolean }): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (name !== "commit") {
        const own: unknown = Reflect.get(target, name, target);
        return typeof own === "function" ? own.bind(target) : own;
      }
      return async (...args: Parameters<SessionStore["commit"]>) => {
        if (!fault.isNext) return target.commit(...args);
        fault.isNext = false;
        const reason = "pulled out";
        return { ok: false, refusal: { code: "store_unavailable", details: { reason } } };
      };
    },
  });
}

describe("stopping the server", () => {
  it("lets turns at work finish, and gives everything back", async () => {
    const stage = await Stage.open();
    const hand = await stage.created({ securityMode: "yolo" });
    const untilLet = 'run sh -c "until [ -e let ]; do sleep 0.02; done"';
    const promptId = await hand.prompt("say begun", untilLet, "say done");
    await stage.until(() => hand.text === "begun");
    const stopping = shutDown(stage.world, stage.registry, NOW);
    writeFileSync(join(stage.folder, "let"), "");
    await stopping;
    expect(await hand.verdict(promptId)).toMatchObject({ type: "turn_complete" });
    expect(stage.registry.all).toEqual([]);
    const record = value(await stage.world.store.readRecord(hand.live.key));
    expect(record).toMatchObject({ status: "inactive", holder: null });
    const { sessionId } = hand;
    const late = await stage.registry.get({ tenantId: TENANT, sessionId });
    expect(late).toMatchObject({ ok: false, refusal: { code: "server_stopping" } });
  });

  it("P2: in a hurry it gives what still runs its verdict", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("say begun", "hang");
    await stage.until(() => hand.text === "begun");
    await shutDown(stage.world, stage.registry, AbortSignal.abort());
    expect(await hand.verdict(promptId)).toMatchObject({ data: { code: "daemon_shutdown" } });
  });
});

describe("recovery", () => {
  it("P5: is the same once and twice, and leaves a session at rest alone", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say one");
    await shutDown(stage.world, stage.registry, NOW);
    const after = await Stage.open({ folder: stage.folder });
    const once = value(await reconcileStaleSessions(after.world, after.registry));
    const twice = value(await reconcileStaleSessions(after.world, after.registry));
    expect([once, twice]).toEqual([NOTHING, NOTHING]);
    expect((await after.opened(hand.sessionId)).events).toEqual([]);
  });
});

const NOTHING = { total: 0, recovered: 0, restoredSnapshots: 0, setAside: [] };
