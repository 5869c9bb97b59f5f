import { describe, expect, it } from "vitest";
import { NO_PERSONA, type Persona } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import { NO_SKILLS, type SkillSnapshot } from "../../core/skill/skill.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import type { SessionStore } from "../../store/index.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada } from "../runtime.fixture.ts";
import { promptOf, Stage, value } from "../stage.fixture.ts";

const KIND: Persona = {
  files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind." }],
  diagnostics: [],
};

interface Known {
  skills: SkillSnapshot;
  persona: Persona;
}

/** A session whose agents are played and whose files are changed here. */
async function begun(known: Known, options: { wrap?(store: SessionStore): SessionStore } = {}) {
  const stage = await Stage.open({ settings: { agentNames: ["echo", "other"] }, ...options });
  const agents = new PlayedAgents();
  agents.play = (agent) => agent.finish();
  const loader = {
    skills: async () => ok(known.skills),
    persona: async () => ok(known.persona),
  };
  const { runtime, key, live } = await playedSession(stage, agents, { loader });
  const send = async (text: string) => value(await runtime.submit(key, promptOf(live, text)));
  const idle = () => live.until(({ running, queue }) => running === null && queue.length === 0);
  const rests = () => live.until(({ connection }) => connection.sessionState === "inactive");
  const dataOf = async (wanted: string) => {
    const { events } = value(await stage.world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const all = events.map(({ text }) => JSON.parse(text));
    return all.filter(({ type }) => type === wanted).map(({ data }) => data);
  };
  const results = () => dataOf("command_result");
  const errors = () => dataOf("turn_error");
  return { stage, agents, runtime, key, live, send, idle, rests, results, errors };
}

const say = async ({ send, idle }: Awaited<ReturnType<typeof begun>>, text: string) => {
  await send(text);
  await idle();
};

describe("a line that begins with a slash", () => {
  it("is never given to the agent raw, even if its skill was reloaded away", async () => {
    const known: Known = { skills: SNAPSHOT, persona: NO_PERSONA };
    const session = await begun(known);
    const { agents, runtime, key, live } = session;
    value(await runtime.choices.changeAgent(key, "other", ada));
    await session.rests();
    const arrival = Promise.withResolvers<void>();
    agents.arriving = arrival.promise;
    await session.send("/skill review the diff");
    await live.until(({ connection }) => connection.sessionState === "activating");
    known.skills = NO_SKILLS;
    value(await runtime.choices.reloadSkills(key, ada));
    arrival.resolve();
    await session.idle();
    expect(agents.given).toEqual([]);
    expect(await session.results()).toMatchObject([{ status: "error", code: "skill_not_found" }]);
  });

  it("means what all before it made of the session", async () => {
    const known: Known = { skills: NO_SKILLS, persona: NO_PERSONA };
    const session = await begun(known);
    known.skills = SNAPSHOT;
    await Promise.all(["/reload_skills", "/skills", "/status"].map(session.send));
    await session.idle();
    const codes = (await session.results()).map(({ code }) => code);
    expect(codes).toEqual(["skills_reloaded", "skills_listed", "status_shown"]);
  });

  it("is the agent's own, and then stands first in what it is given", async () => {
    const known: Known = { skills: NO_SKILLS, persona: NO_PERSONA };
    const session = await begun(known);
    session.agents.commands = { other: ["compact"] };
    await say(session, "/agent other");
    await say(session, "hello");
    known.persona = KIND;
    value(await session.runtime.choices.reloadPersona(session.key, ada));
    await say(session, "/compact");
    await say(session, "hello again");
    const [, command, prompt = ""] = session.agents.given;
    expect(command).toBe("other | /compact");
    expect(prompt).toContain("Be kind.");
  });

  it("is nobody's, if only the agent before this one had such a command", async () => {
    const session = await begun({ skills: NO_SKILLS, persona: NO_PERSONA });
    session.agents.commands = { echo: ["compact"] };
    await say(session, "/agent other");
    await say(session, "/agent echo");
    await say(session, "/compact");
    await say(session, "/agent other");
    await say(session, "/compact");
    expect(session.agents.given).toEqual(["echo | /compact"]);
    expect((await session.results()).at(-1)).toMatchObject({ code: "unknown_command" });
  });

  it("is not called unknown while there is no agent to ask", async () => {
    const session = await begun({ skills: NO_SKILLS, persona: NO_PERSONA });
    value(await session.runtime.choices.changeAgent(session.key, "other", ada));
    await session.rests();
    session.agents.refusal = { code: "agent_unknown", details: {} };
    await say(session, "/compact");
    expect(await session.errors()).toMatchObject([{ code: "agent_unavailable" }]);
  });
});

describe("what an agent has to be told", () => {
  it("P6: is told to the next one, if this one rested before its first prompt", async () => {
    const session = await begun({ skills: NO_SKILLS, persona: KIND });
    await say(session, "first");
    await say(session, "/agent other");
    value(await session.runtime.resume(session.key, ada));
    await session.live.until(({ connection }) => connection.sessionState === "ready");
    expect(session.live.session.agentUntold).toBe(true);
    expect(session.live.past(session.live.session)).toMatchObject({ agentSessionId: null });
    await say(session, "second");
    expect(session.live.session.agentUntold).toBe(false);
    expect(session.live.past(session.live.session)).toMatchObject({ agentSessionId: "played" });
  });

  it("P7: is not taken back because the store did not answer once", async () => {
    let isAway = false;
    const wrap = (store: SessionStore): SessionStore =>
      new Proxy(store, {
        get: (target, name) => {
          if (name === "readBlob" && isAway) {
            isAway = false;
            return async () => fail("store_unavailable", { reason: "a test" });
          }
          const part: unknown = Reflect.get(target, name);
          return typeof part === "function" ? part.bind(target) : part;
        },
      });
    const known: Known = { skills: NO_SKILLS, persona: KIND };
    const session = await begun(known, { wrap });
    await say(session, "first");
    const kinder = { ...KIND.files[0], text: "Be kinder." };
    known.persona = { files: KIND.files.map((file) => ({ ...file, ...kinder })), diagnostics: [] };
    value(await session.runtime.choices.reloadPersona(session.key, ada));
    session.stage.world.known.forget(session.key.tenantId);
    isAway = true;
    await say(session, "second");
    expect(isAway).toBe(false);
    expect(session.agents.given.at(-1)).toContain("Be kinder.");
  });
});
