import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { SessionCaller } from "./caller.fixture.ts";
import { dataOf, ofType } from "./ear.fixture.ts";
import { echoAgent, Files, skill } from "./files.fixture.ts";

const ADA = "You are called Ada.";
const BOB = "You are called Bob.";

/** Every agent without a place for a system prompt, by the way in which it remembers. */
const server = sharedServer({
  agents: {
    resumes: echoAgent("--no-system-prompt", "--state", ".echo/resumes"),
    loads: echoAgent("--no-system-prompt", "--no-resume", "--state", ".echo/loads"),
    forgets: echoAgent("--no-system-prompt"),
    prompted: echoAgent("--state", ".echo/prompted"),
  },
});

async function taught(agent: string): Promise<SessionCaller> {
  const files = new Files(server());
  files.write("AGENTS.md", ADA);
  files.skill("deploy", skill("Ships it.", "Deploy from main."));
  return SessionCaller.create(server(), { agent });
}

/** What the log says that the agent was told, from the beginning of the session. */
async function told(session: SessionCaller): Promise<readonly JsonObject[]> {
  const { promptId } = await session.say("say that was it");
  const { events } = await session.heard({ promptId, lastEventId: 0 });
  return events.filter(ofType("instructions_sent")).map(dataOf);
}

/** What echo says came before its prompt: at most a marked block each time. */
async function recalled(session: SessionCaller): Promise<string> {
  return (await session.say("recall")).text;
}

async function restart() {
  await server().kill("SIGKILL");
  await server().restart();
}

describe("an agent with a place for a system prompt", { timeout: 60_000 }, () => {
  it("is told the persona of the creation there, until a reload", async () => {
    const session = await taught("echo");
    expect((await session.say("whoami")).text).toContain(ADA);
    new Files(server()).write("AGENTS.md", BOB);
    expect(await recalled(session)).not.toContain("Before this prompt came");
    await restart();
    const back = await session.say("whoami");
    expect(back.text).toContain(`system prompt: # AGENTS.md\n\n${ADA}`);
    expect(back.text).not.toContain(BOB);
    expect((await session.say("/reload_persona")).result).toMatchObject({ status: "ok" });
    expect(await recalled(session)).toContain(BOB);
    expect(await recalled(session)).not.toContain("Before this prompt came");
    const all = await told(session);
    expect(all.map(({ via }) => via)).toEqual(["system_prompt", "system_prompt", "context_block"]);
    expect(all.map(({ text }) => String(text).includes(BOB))).toEqual([false, false, true]);
  });

  it("is told once, if it remembers", async () => {
    const session = await taught("prompted");
    await session.say("say hello");
    await restart();
    expect((await session.say("whoami")).text).toContain(ADA);
    expect(await told(session)).toMatchObject([{ via: "system_prompt" }]);
  });
});

describe("an agent that comes back after a reload", { timeout: 60_000 }, () => {
  it.each([
    { agent: "prompted", vias: ["system_prompt", "system_prompt"], ask: "whoami" },
    { agent: "resumes", vias: ["context_block", "context_block"], ask: "recall" },
  ])("is told what the session has by then: $agent", async ({ agent, vias, ask }) => {
    const session = await taught(agent);
    await session.say("say hello");
    await restart();
    new Files(server()).write("AGENTS.md", BOB);
    expect((await session.say("/reload_persona")).result).toMatchObject({ status: "ok" });
    expect((await session.say(ask)).text).toContain(BOB);
    expect(await recalled(session)).not.toContain("<instructions>");
    expect((await told(session)).map(({ via }) => via)).toEqual(vias);
  });
});

describe("an agent without one", { timeout: 60_000 }, () => {
  it.each(["resumes", "loads"])("is told in front of its first prompt only: %s", async (agent) => {
    const session = await taught(agent);
    const first = await recalled(session);
    expect(first.match(/<instructions>/g)).toHaveLength(1);
    expect(first).toContain(ADA);
    expect(first).toContain("- deploy: Ships it.");
    expect(await recalled(session)).not.toContain("<instructions>");
    await restart();
    expect(await recalled(session)).toMatch(/I remember 2 turns; last you said "recall"\.\n$/);
    expect(await told(session)).toMatchObject([{ via: "context_block" }]);
  });

  it("is told again with the conversation, if it remembers nothing", async () => {
    const session = await taught("forgets");
    await session.say("say hello");
    new Files(server()).write("AGENTS.md", BOB);
    await restart();
    const anew = await recalled(session);
    expect(anew).toContain("I remember 0 turns");
    expect(anew.indexOf("<instructions>")).toBeLessThan(anew.indexOf("<conversation_so_far>"));
    expect(anew.match(/<instructions>/g)).toHaveLength(1);
    expect(anew).toContain(ADA);
    expect(anew).not.toContain(BOB);
    expect(await recalled(session)).not.toContain("<instructions>");
    expect(await told(session)).toHaveLength(2);
  });

  it("P7: is told after all, if the server died before its first prompt", async () => {
    const session = await taught("resumes");
    await restart();
    expect(await recalled(session)).toContain(ADA);
    expect(await recalled(session)).not.toContain("<instructions>");
    expect(await told(session)).toMatchObject([{ via: "context_block" }]);
  });

  it("is told a reload with the next prompt, and what it knew before as well", async () => {
    const session = await taught("resumes");
    new Files(server()).write("AGENTS.md", BOB);
    await session.say("/reload_persona");
    const first = await recalled(session);
    expect(first.indexOf(ADA)).toBeLessThan(first.indexOf(BOB));
    expect(first).toContain("From now on these take the place of earlier instructions:");
    expect(await recalled(session)).not.toContain("<instructions>");
    expect((await told(session)).map(({ text }) => String(text).includes(BOB))).toEqual([
      false,
      true,
    ]);
  });

  it("is told once that a persona does not apply any more", async () => {
    const session = await taught("resumes");
    await session.say("say hello");
    const files = new Files(server());
    files.remove("AGENTS.md");
    await session.say("/reload_persona");
    const next = await recalled(session);
    expect(next).toContain("<instructions>");
    expect(next).not.toContain(ADA);
    expect(await recalled(session)).not.toContain("<instructions>");
  });
});
