import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../price.ts";
import { EMPTY_TURN } from "../turn.ts";
import { AGENT, client, Life, newPrompt, noCredit, turnId } from "./life.fixture.ts";
import { parseSessionName } from "./name.ts";
import { CORE_SLOT, evolveLost, readSlot, sessionFromManifest, writeSlot } from "./slot.ts";
import { WAITING } from "./slot-v5.fixture.ts";
import type { Session } from "./state.ts";

const MANIFEST = { sessionId: WAITING.sessionId, storeId: "sqlite", createdAt: 1_000 } as const;
const RECORD = {
  workspaceCwd: "/workspace",
  displayName: "A name",
  name: null,
  parentSessionId: WAITING.sessionId,
  sourceType: "branch",
  sourceId: "s0",
  shared: true,
  closed: false,
  agent: null,
  createdBy: null,
  audience: null,
};

describe("a session without its slot", () => {
  it("P6: is at rest, with what the manifest and the record say", () => {
    const session = sessionFromManifest({ ...MANIFEST, mode: "yolo" }, RECORD, "chat");
    expect(session).toMatchObject({
      sessionId: "s1",
      fixed: {
        workspaceCwd: "/workspace",
        scope: "single",
        securityMode: "yolo",
        storeId: "sqlite",
        source: { type: "branch", id: "s0" },
        parentSessionId: "s1",
        createdAtMs: 1_000,
      },
      chosen: { activeAgent: "chat", displayName: "A name", currentCwd: "/workspace" },
      phase: "Closed",
      connection: { sessionState: "inactive", turn: EMPTY_TURN },
      running: null,
      queue: [],
      closed: false,
    });
    expect(readSlot(CORE_SLOT.version, writeSlot(session))).toStrictEqual(session);
  });

  it("has the name and the agent of its record, where that has them", () => {
    const name = parseSessionName("fix-login");
    const record = { ...RECORD, name, agent: "echo" };
    const { chosen } = sessionFromManifest({ ...MANIFEST, mode: "ask" }, record, "chat");
    expect(chosen).toMatchObject({ name: "fix-login", activeAgent: "echo" });
    const without = sessionFromManifest({ ...MANIFEST, mode: "ask" }, RECORD, "chat");
    expect(without.chosen).not.toHaveProperty("name");
  });

  it("is of a thread if it is not shared, and has no source if none is known", () => {
    const record = { ...RECORD, shared: false, sourceType: null, sourceId: null };
    const { fixed } = sessionFromManifest({ ...MANIFEST, mode: "ask" }, record, "echo");
    expect(fixed).toMatchObject({ scope: "thread", source: null });
  });

  it("P7: allows nothing that its lost settings may have forbidden", () => {
    const session = sessionFromManifest({ ...MANIFEST, mode: "allowlist" }, RECORD, "echo");
    expect(session.fixed.allowlist).toEqual([]);
    expect(session.chosen.approvalMode).toBe("default");
    expect(session.connection).toMatchObject({ autonomyProfile: "manual", agentMode: null });
  });

  it("stays closed to its clients, until one loads it", () => {
    const life = new Life();
    const record = { ...RECORD, closed: true };
    life.session = sessionFromManifest({ ...MANIFEST, mode: "ask" }, record, "echo");
    expect(life.prompt("p1").kind).toBe("refused");
    life.give("resume", { skipped: [{ name: CORE_SLOT.owner, reason: "unreadable" }] });
    expect(life.prompt("p1").kind).toBe("accepted");
  });

  it("P6: takes an agent and a prompt", () => {
    const life = new Life();
    life.session = sessionFromManifest({ ...MANIFEST, mode: "ask" }, RECORD, "echo");
    life.give("activate", {});
    life.give(
      "agent_status",
      { status: "connected", agentSessionId: "a", context: "seeded" },
      AGENT,
    );
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, client(null));
    life.says("hello");
    life.complete("t1");
    expect(life.state).toBe("ready");
    expect(life.now.phase).toBe("Persisted");
  });

  it("forgets a turn that ended before the snapshot, however much of it is told again", () => {
    const life = new Life().running();
    const told = life.log.length;
    const tokens = { ...NO_TOKENS, input: 5 };
    life.give("reserve_slice", { turnId: turnId("t1"), n: 1, amountMicro: 10 });
    const usage = { model: "large", used: 1, size: 2, tokens };
    life.give("usage", { turnId: turnId("t1"), usage }, AGENT);
    life.complete("t1");
    const lost = sessionFromManifest({ ...MANIFEST, mode: "ask" }, RECORD, "echo");
    const session = life.log.slice(told).reduce<Session>(evolveLost, lost);
    expect(session.connection).toMatchObject({ sessionState: "ready", turn: EMPTY_TURN });
    expect(session.phase).toBe("Persisted");
  });

  it("P2: knows a turn by its prompt's id alone, and gives it its verdict", () => {
    const life = new Life().running();
    life.prompt("p2");
    life.complete("t1");
    const snapshot = life.log.length;
    life.begin("p2", "t2");
    const lost = sessionFromManifest({ ...MANIFEST, mode: "ask" }, RECORD, "echo");
    const after = new Life();
    after.session = life.log.slice(snapshot).reduce<Session>(evolveLost, lost);
    const verdict = { code: "SERVER_RESTART", promptId: "p2", turnId: "t2" };
    const { events } = after.give("recovery", {});
    expect(events).toContainEqual(
      expect.objectContaining({ type: "turn_error", data: expect.objectContaining(verdict) }),
    );
  });
});
