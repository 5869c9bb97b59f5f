import { describe, expect, it } from "vitest";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { turn } from "../runtime.fixture.ts";
import { Stage } from "../stage.fixture.ts";
import { HeldCommands, OpenTurns, type TakenCommand, TurnMemory } from "./open-turns.ts";

const MIB = 1_024 * 1_024;

/** Turns of a tenant's user, of which it is known which were stopped. */
class Turns {
  readonly open = new OpenTurns(100);
  readonly stopped: string[] = [];

  begun(name: string, tenant: string, user = "ada"): TurnMemory {
    const tenantId = parseTenantId(tenant) ?? expect.fail();
    const memory: TurnMemory = new TurnMemory(
      this.open,
      { tenantId, userId: parseUserId(user) },
      () => {
        this.stopped.push(name);
        memory.hold(0, false);
      },
    );
    return memory;
  }
}

describe("P10: the memory of all open turns", () => {
  it("costs the tenant that holds most its largest turn, and a quiet one nothing", () => {
    const turns = new Turns();
    turns.begun("quiet", "quiet").hold(45, true);
    turns.begun("small", "loud").hold(20, true);
    turns.begun("large", "loud").hold(30, true);
    expect(turns.stopped).toEqual([]);
    turns.begun("next", "loud").hold(10, true);
    expect(turns.stopped).toEqual(["large"]);
    expect(turns.open.bytes).toBe(75);
  });

  it("costs within a tenant the user who holds most", () => {
    const turns = new Turns();
    turns.begun("of bob", "acme", "bob").hold(40, true);
    turns.begun("first of ada", "acme").hold(30, true);
    turns.begun("second of ada", "acme").hold(31, true);
    expect(turns.stopped).toEqual(["second of ada"]);
  });

  it("passes over turns that are stopped already, or that are being written", () => {
    const turns = new Turns();
    turns.begun("stopped", "acme").hold(50, false);
    const settling = turns.begun("settling", "acme");
    settling.isSettling = true;
    settling.hold(45, true);
    turns.begun("running", "acme").hold(10, true);
    expect(turns.stopped).toEqual(["running"]);
  });

  it("is free again when a turn ends, and when its session does", () => {
    const turns = new Turns();
    const ended = turns.begun("ended", "acme");
    ended.hold(90, true);
    ended.hold(0, false);
    const left = turns.begun("left", "acme");
    left.hold(90, true);
    left.leave();
    expect([turns.open.bytes, turns.stopped]).toEqual([0, []]);
  });
});

describe("P2, P10: a turn that is stopped for the memory of all", () => {
  it("gets its verdict, and its session goes on with the next prompt", async () => {
    const turnMemory = { allBytesMax: 2 * MIB, eachBytesMax: 32 * MIB };
    const stage = await Stage.open({ settings: { turnMemory } });
    const agents = new PlayedAgents();
    agents.play = async (agent) => {
      for (let n = 0; n < 3; n += 1) await agent.say("x".repeat(MIB));
      agent.finish();
    };
    const { runtime, live } = await playedSession(stage, agents);
    await turn(live, "say much");
    expect(live.session.lastTurnError).toMatchObject({ code: "turn_too_large" });
    expect(stage.world.turns.bytes).toBeLessThan(MIB);
    agents.play = async (agent) => {
      await agent.say("little");
      agent.finish();
    };
    await turn(live, "say little");
    expect(live.session.lastTurnError).toBeNull();
    await runtime.shutDown(AbortSignal.abort());
    expect(stage.world.turns.bytes).toBe(0);
    expect(stage.logs).not.toContain("session reopened");
  });
});

describe("P10: large turns", () => {
  it("are settled one at a time, and what comes meanwhile is decided afterwards", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = async (agent) => {
      await agent.say("x".repeat(2 * MIB));
      agent.finish();
    };
    const { runtime, live } = await playedSession(stage, agents);
    const release = await stage.world.turns.settling.acquire();
    const ended = turn(live, "say much");
    await live.until(({ connection }) => connection.turn.hasOutput);
    const name = live.submit({
      ...{ type: "metadata", atMs: Date.now(), displayName: "later" },
      actor: { kind: "server" },
    });
    expect(live.session.running).not.toBeNull();
    release();
    await Promise.all([ended, name]);
    expect(live.session.lastTurnError).toBeNull();
    expect(live.session.running).toBeNull();
    await runtime.shutDown(AbortSignal.abort());
  });

  it("that fail at their end give back the permit, and what waits is decided", async () => {
    const { settling } = new OpenTurns(0);
    const log: string[] = [];
    const taken = (promptId: string): TakenCommand => ({
      command: { type: "metadata", atMs: 0, displayName: promptId, actor: { kind: "server" } },
      waiter: {
        resolve: () => {},
        reject: (thrown) => log.push(`${promptId} failed: ${thrown}`),
      },
    });
    const last = taken("last");
    const held = new HeldCommands(taken("end"), settling, {
      prepare: () => Promise.reject("no memory"),
      begin: () => log.push("begun"),
      take: (one) => {
        if (one !== last) throw "no memory";
        log.push("last decided");
      },
    });
    held.push(taken("next"));
    held.push(last);
    await held.goesOn;
    const failures = ["end failed: no memory", "next failed: no memory"];
    expect(log).toEqual(["begun", ...failures, "last decided"]);
    // The one permit is free, so this resolves.
    (await settling.acquire())();
  });
});
