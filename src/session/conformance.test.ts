import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { SessionStore } from "../store/index.ts";
import { SessionHost } from "./host.ts";
import { shutDown } from "./life/ending.ts";
import { echo, Stage, value } from "./stage.fixture.ts";

/** The reference's checks of the session's side, by number (section 14). */

const NEVER = new AbortController().signal;

const persisted = (stage: Stage, sessionId: Parameters<Stage["events"]>[0]) =>
  stage
    .events(sessionId)
    .filter((event) => event.type === "session_lifecycle")
    .filter(({ data }) => data.event === "SessionPersisted");

describe("79: SessionPersisted", () => {
  it("is told after the snapshot is durable, and never if it is not", async () => {
    let isBroken = false;
    const wrap = (store: SessionStore) => refusing(store, () => isBroken);
    const stage = await Stage.open({ wrap });
    const hand = await stage.created();
    await hand.turn("say one");
    expect(persisted(stage, hand.sessionId)).toHaveLength(1);
    isBroken = true;
    const promptId = await hand.prompt("say two");
    const verdict = await hand.verdict(promptId);
    expect(verdict).toMatchObject({ data: { code: "STORE_FAILURE" } });
    expect(persisted(stage, hand.sessionId)).toHaveLength(1);
    expect(value(await stage.world.store.readRecord(hand.live.key)).revision).toBe(1);
  });
});

/** Refuses the next commit with a snapshot, once, as a full disk would. */
function refusing(store: SessionStore, isBroken: () => boolean): SessionStore {
  let hasRefused = false;
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (name !== "commit") return typeof own === "function" ? own.bind(target) : own;
      return async (...args: Parameters<SessionStore["commit"]>) => {
        if (hasRefused || !isBroken() || !args[2].snapshot) return target.commit(...args);
        hasRefused = true;
        const details = { reason: "its disk is full" };
        return { ok: false, refusal: { code: "store_unavailable", details } };
      };
    },
  });
}

describe("80: a turn that fails", () => {
  it("reaches its snapshot, and leaves the conversation as it was", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say one");
    const before = value(await stage.world.store.readRecord(hand.live.key));
    expect(await hand.turn("say lost", "fail -32000 no")).toMatchObject({ type: "turn_error" });
    const after = value(await stage.world.store.readRecord(hand.live.key));
    expect(after.messageCount).toBe(before.messageCount);
    expect(after.revision).toBe(before.revision + 1);
  });
});

describe("82: a start that fails", () => {
  it.each([
    ["the agent cannot be started", echo("--exit-at-start", "1"), /agent_exited_early/],
    ["the agent wants a sign-in", echo("--needs-auth"), /agent_auth_required/],
    ["the agent speaks another version", echo("--protocol", "9"), /agent_protocol_version/],
  ])("because %s leaves no session, no owner and no process", async (_, profile, why) => {
    const stage = await Stage.open({ profiles: new Map([profile]) });
    await expect(stage.created()).rejects.toThrow(why);
    expect(stage.registry.all).toEqual([]);
    const tenants = value(await stage.world.store.tenants());
    for (const tenantId of tenants) {
      const listed = value(await stage.world.store.list(tenantId, {}, { limit: 9, cursor: null }));
      expect(listed.sessions).toEqual([]);
    }
    await stage.world.agents.shutdown();
    expect(readdirSync(join(stage.folder, "running-agents"))).toEqual([]);
  });
});

describe("83: a session resumes without", () => {
  it.each([
    ["its core slot, which is gone", "DELETE FROM slots WHERE owner = 'fermata.core'"],
    [
      "its core slot, which is damaged",
      "UPDATE slots SET payload = x'00' WHERE owner LIKE '%core'",
    ],
    ["its figures", "DELETE FROM slots WHERE owner = 'fermata.stats'"],
    ["all of its slots", "DELETE FROM slots"],
  ])("P6: %s, and the conversation goes on", async (_, damage) => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("My name is Ada.");
    await shutDown(stage.world, stage.registry, NEVER);
    const db = new Database(join(stage.folder, "data", "tenants", "acme", "sessions.db"));
    db.exec(damage);
    db.close();
    const after = await Stage.open({ folder: stage.folder });
    const again = await after.opened(hand.sessionId);
    expect(again.live.skipped.length).toBeGreaterThan(0);
    expect(await again.turn("recall")).toMatchObject({ type: "turn_complete" });
    expect(again.text).toContain("My name is Ada.");
  });
});

describe("84: a session of another store", () => {
  it("is known by its manifest, before any slot is looked at", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say one");
    const { key } = hand.live;
    const manifest = value(await stage.world.store.readManifest(key));
    await shutDown(stage.world, stage.registry, NEVER);
    // Its slots are nonsense too: a check of them first would say so instead.
    const db = new Database(join(stage.folder, "data", "tenants", "acme", "sessions.db"));
    db.exec("UPDATE slots SET payload = x'00'");
    db.prepare("UPDATE sessions SET store_id = 'elsewhere' WHERE session_id = ?").run(
      manifest.sessionId,
    );
    db.close();
    const after = await Stage.open({ folder: stage.folder });
    expect(await after.registry.get(key)).toMatchObject({
      ok: false,
      refusal: { code: "resume_mismatch", details: { stored: "elsewhere" } },
    });
  });
});

describe("86: the end of a server", () => {
  it("is its beginning backwards: input, sessions, agents, and the store last", async () => {
    const order: string[] = [];
    const wrap = (store: SessionStore) => noting(store, order);
    const stage = await Stage.open({ wrap });
    const runtime = new SessionHost(stage.world);
    const { agents } = stage.world;
    const shutdown = agents.shutdown.bind(agents);
    agents.shutdown = async () => {
      order.push("agents");
      await shutdown();
    };
    const hand = await stage.created();
    await shutDown(stage.world, stage.registry, NEVER);
    await runtime.shutDown(NEVER);
    value(await stage.world.store.deactivate());
    expect(order.slice(0, 3)).toEqual(["session", "agents", "agents"]);
    expect(order.at(-1)).toBe("store");
    expect(hand.status).toBe("inactive");
  });
});

/** Notes when sessions are given back, and when the store itself goes. */
function noting(store: SessionStore, order: string[]): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (typeof own !== "function") return own;
      return (...args: unknown[]) => {
        if (name === "close") order.push("session");
        if (name === "deactivate") order.push("store");
        return own.apply(target, args);
      };
    },
  });
}
