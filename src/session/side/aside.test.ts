import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentListener, Agents } from "../../agent/agent.ts";
import { ASIDE_ANSWER_CHARS_MAX, ASIDE_MS_MAX, BTW_QUESTION_CHARS_MAX } from "../../core/limits.ts";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import { ok } from "../../core/result.ts";
import type { ReservationRequest } from "../meter/meter.ts";
import { echo, Stage, value } from "../stage.fixture.ts";
import { AsideSession, Asides, questionFault } from "./aside.ts";
import { bound, FOREVER, PatientClock } from "./side.fixture.ts";

/** A session with one turn behind it, and everything that streams and store have of it. */
async function conversation(options: Parameters<typeof Stage.open>[0] = {}) {
  const stage = await Stage.open(options);
  const hand = await stage.created();
  await hand.turn("My name is Ada.");
  const everything = async () => {
    const { store } = stage.world;
    const { key } = hand.live;
    const record = value(await store.readRecord(key));
    const log = value(await store.readEvents(key, { after: 0, limit: 1_000 }));
    const { rows } = value(await store.readJournal(key.tenantId, { ...AUDIT, after: 0 }));
    return { told: [...hand.events], record, log, audit: rows };
  };
  return { stage, hand, everything, before: await everything() };
}

const AUDIT = { journal: "audit", limit: 1_000 } as const;

describe("a question by the way", () => {
  it("P1: is answered from the conversation, and leaves no trace in it", async () => {
    const { stage, hand, everything, before } = await conversation();
    const asides = new Asides(stage.world);
    const answer = value(await asides.btw(hand.live, "recall", FOREVER));
    expect(answer).toMatch(/^I remember 0 turns/);
    expect(answer).toContain("User: My name is Ada.");
    expect(await everything()).toEqual(before);
    await hand.turn("recall");
    expect(hand.text).toContain("I remember 1 turn;");
  });

  it("P8: never speaks as the session's own agent, also when that is at rest", async () => {
    const { stage, hand } = await conversation();
    await stage.registry.evict(hand.live, "idle_timeout");
    const again = await stage.opened(hand.sessionId);
    const asides = new Asides(stage.world);
    const answer = value(await asides.btw(again.live, "recall", FOREVER));
    expect(answer).toMatch(/^I remember 0 turns.*User: My name is Ada/s);
    expect(again.status).toBe("inactive");
    await again.turn("recall");
    expect(again.text).toContain('I remember 1 turn; last you said "My name is Ada."');
  });

  it("is answered before the first prompt too, and while a turn is at work", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const asides = new Asides(stage.world);
    expect(value(await asides.btw(hand.live, "say early", FOREVER))).toBe("early");
    const promptId = await hand.prompt("say at work", "hang");
    await stage.until(() => hand.text === "at work");
    expect(value(await asides.btw(hand.live, "say late", FOREVER))).toBe("late");
    expect(hand.status).toBe("running");
    await hand.say("cancel", {});
    await hand.verdict(promptId);
    expect(hand.text).toBe("at work");
  });

  it("may ask for nothing and touch nothing", async () => {
    const { stage, hand, everything, before } = await conversation();
    const asides = new Asides(stage.world);
    const script = ["ask kind=execute command=ls", "write ./a.txt no", "run touch b.txt"];
    for (const line of script) {
      const answer = value(await asides.btw(hand.live, line, FOREVER));
      expect(answer ?? "").not.toMatch(/selected|wrote|exit/);
    }
    expect(["a.txt", "b.txt"].filter((name) => existsSync(join(stage.folder, name)))).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  it.each([
    ["says nothing", "think hm"],
    ["fails", "fail -32603 no"],
    ["refuses", "say no\nrefuse"],
    ["dies", "say gone\ncrash 3"],
  ])("is not answered if the agent %s", async (_, question) => {
    const { stage, hand } = await conversation({
      profiles: new Map([echo("--single-session")]),
    });
    expect(value(await new Asides(stage.world).btw(hand.live, question, FOREVER))).toBeNull();
    expect(await hand.turn("say still here")).toMatchObject({ type: "turn_complete" });
  });

  it("is not answered if no agent can be had", async () => {
    const { stage, hand } = await conversation();
    await stage.registry.evict(hand.live, "idle_timeout");
    const profiles = new Map([echo("--exit-at-start", "1")]);
    const broken = await Stage.open({ folder: stage.folder, profiles });
    const { live } = await broken.opened(hand.sessionId);
    expect(value(await new Asides(broken.world).btw(live, "say hi", FOREVER))).toBeNull();
  });

  it("P5, P9: gives back what was set aside for it, if no agent can be had", async () => {
    const { stage, hand } = await conversation();
    await stage.registry.evict(hand.live, "idle_timeout");
    const profiles = new Map([echo("--exit-at-start", "1")]);
    const broken = await Stage.open({ folder: stage.folder, profiles });
    const { live } = await broken.opened(hand.sessionId);
    const booked: string[] = [];
    const meter = {
      ...broken.world.meter,
      reserve: ({ turnId }: ReservationRequest) => {
        booked.push(`reserve ${turnId}`);
        return ok({ reservedMicro: 10, price: null, model: null });
      },
      giveBack: async (_: unknown, turnId: string) => void booked.push(`release ${turnId}`),
      settleAside: async () => booked.push("charge"),
    };
    const asides = new Asides({ ...broken.world, meter });
    expect(value(await asides.btw(live, "say hi", FOREVER))).toBeNull();
    await asides.end();
    const [reserved] = booked;
    expect(booked).toEqual([reserved, reserved?.replace("reserve", "release")]);
  });

  it("P10: has a limit to its length, and its answer another", async () => {
    expect(questionFault(" \n")).toMatch(/1 to 4096/);
    expect(questionFault("?".repeat(BTW_QUESTION_CHARS_MAX + 1))).not.toBeNull();
    expect(questionFault("?".repeat(BTW_QUESTION_CHARS_MAX))).toBeNull();
    const { stage, hand } = await conversation();
    const answer = value(await new Asides(stage.world).btw(hand.live, "chunks 50 1k", FOREVER));
    expect(answer).toHaveLength(ASIDE_ANSWER_CHARS_MAX);
  });
});

/** The same agents, of which it is heard when one says something. */
function overheard(agents: Agents) {
  let hear = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const ears = (listener: AgentListener) =>
    bound(listener, (name, own) => {
      if (name === "update") hear();
      return own;
    });
  const connect: Agents["connect"] = (order, listener, signal) =>
    agents.connect(order, ears(listener), signal);
  return { heard, agents: bound(agents, (name, own) => (name === "connect" ? connect : own)) };
}

describe("P2: an aside", () => {
  const made = {
    ...ASKING_UNKNOWN,
    asks: "made_to",
    mode: "auto",
    options: { effort: "high" },
  } as const;

  it("is in the mode in which its agent asks, also where the session lets all happen", async () => {
    const { stage, hand } = await conversation();
    const settings = { ...stage.world.settings, asking: new Map([["echo", made]]) };
    const asides = new Asides({ ...stage.world, settings });
    expect(value(await asides.btw(hand.live, "whoami", FOREVER))).toMatch(/^mode: auto$/m);
    expect(value(await asides.btw(hand.live, "whoami", FOREVER))).toMatch(/^effort: high$/m);
  });

  it("has no answer if its agent does not take what makes it ask", async () => {
    const { stage, hand } = await conversation();
    const way = { ...made, options: { "no-such": true } };
    const settings = { ...stage.world.settings, asking: new Map([["echo", way]]) };
    const asides = new Asides({ ...stage.world, settings });
    expect(value(await asides.btw(hand.live, "say done", FOREVER))).toBeNull();
  });
});

describe("P5, P10: an aside", () => {
  it("has no notices and plans of its agent in it, which are repeated in words", async () => {
    const { world } = await Stage.open();
    const aside = new AsideSession(world, FOREVER);
    const said = (text: string) => {
      const content = { type: "text", text };
      return { sessionUpdate: "agent_message_chunk", content };
    };
    aside.update({ ...said("Please upgrade. "), _meta: { repeats: "notice" } });
    aside.update(said("42"));
    const turnId = world.ids.turn();
    aside.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
    expect(await aside.answer).toBe("42");
  });

  it("is ended when its caller is gone, and then there is room for the next", async () => {
    const { stage, hand } = await conversation();
    const asides = new Asides(stage.world);
    const caller = new AbortController();
    const first = asides.btw(hand.live, "hang", caller.signal);
    expect(await asides.recap(hand.live)).toMatchObject({ refusal: { code: "agent_busy" } });
    const other = await stage.created();
    expect(value(await asides.btw(other.live, "say other", FOREVER))).toBe("other");
    caller.abort();
    expect(value(await first)).toBeNull();
    await expect
      .poll(() => asides.btw(hand.live, "say next", FOREVER))
      .toEqual({
        ok: true,
        value: "next",
      });
  });

  it("has sixty seconds, and its agent session is closed afterwards", async () => {
    const { stage, hand } = await conversation();
    const clock = new PatientClock(stage.world.clock, ASIDE_MS_MAX);
    const { agents, heard } = overheard(stage.world.agents);
    const asides = new Asides({ ...stage.world, agents, clock });
    const slow = asides.btw(hand.live, "say half\nhang", FOREVER);
    await heard;
    clock.pass(ASIDE_MS_MAX);
    expect(value(await slow)).toBeNull();
    expect(value(await asides.btw(hand.live, "whoami", FOREVER))).toMatch(/sessions: \S+, \S+\n/);
  });
});

describe("a recap", () => {
  it("is what the agent says when it is asked for one", async () => {
    const { stage, hand, everything, before } = await conversation();
    const recap = value(await new Asides(stage.world).recap(hand.live));
    expect(recap).toContain("where the work stands");
    expect(await everything()).toEqual(before);
  });

  it("is null for a session that has not said anything yet", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await stage.registry.evict(hand.live, "idle_timeout");
    const again = await stage.opened(hand.sessionId);
    expect(value(await new Asides(stage.world).recap(again.live))).toBeNull();
  });
});
