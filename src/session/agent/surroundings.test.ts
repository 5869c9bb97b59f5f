import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { SURROUNDINGS_MS_MAX } from "../../core/limits.ts";
import { NO_PERSONA } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import type { Loader } from "../../loader/loader.ts";
import { PERSONA, SKILLS, take } from "../knowledge.ts";
import { PatientClock } from "../side/side.fixture.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";
import { filesAround, knownSoon, surroundingsOf } from "./briefing.ts";

const PLACE = { tenantId: TENANT, workspaceCwd: "/" };
const FILES = { skills: "1", persona: "2" };

async function connected() {
  const stage = await Stage.open();
  const hand = await stage.created();
  const { agent } = hand.live;
  return agent ?? expect.fail("there is no agent");
}

describe("what is around a session", () => {
  it("is its agent with its version and model, its files, and its MCP servers", async () => {
    const agent = await connected();
    const server = { name: "files", command: "serve", args: [], env: [] };
    expect(surroundingsOf(agent, FILES, [server])).toEqual({
      agent: "Echo 1.0.0",
      model: "echo-small",
      ...FILES,
      mcpServers: [expect.stringMatching(/^files [0-9a-f]{8}$/)],
    });
  });

  it("P11: tells servers apart by how they are reached, and by no secret", async () => {
    const agent = await connected();
    const marks = (...servers: readonly JsonObject[]) =>
      surroundingsOf(agent, FILES, servers).mcpServers;
    const env = (value: string) => [{ name: "API_KEY", value }];
    const server = { name: "files", command: "serve", args: ["a"], env: env("4711") };
    const [mark] = marks(server);
    expect(marks({ ...server, env: env("4712") })).toEqual([mark]);
    expect(mark).not.toContain("4711");
    const others = [
      { ...server, args: ["b"] },
      { ...server, command: "other" },
      { ...server, env: [{ name: "OTHER_KEY", value: "4711" }] },
    ];
    for (const other of others) expect(marks(other)).not.toEqual([mark]);
  });

  it("has of the files what they would be loaded as now", async () => {
    const loader: Loader = {
      skills: async () => ok(SNAPSHOT),
      persona: async () => ok(NO_PERSONA),
    };
    const stage = await Stage.open({ loader });
    expect(await filesAround(stage.world, PLACE)).toEqual({
      skills: value(await take(stage.world, PLACE, SKILLS)).hash,
      persona: value(await take(stage.world, PLACE, PERSONA)).hash,
    });
  });

  it("has nothing of files that cannot be read", async () => {
    const why = fail("skills_unavailable", { root: "bundled", reason: "It is gone." });
    const loader: Loader = { skills: async () => why, persona: async () => ok(NO_PERSONA) };
    const stage = await Stage.open({ loader });
    expect(await filesAround(stage.world, PLACE)).toEqual({ skills: null, persona: "none" });
  });

  it("waits for a disk that does not answer for a while, and then for no longer", async () => {
    const stage = await Stage.open();
    const clock = new PatientClock(stage.world.clock, SURROUNDINGS_MS_MAX);
    const world = { ...stage.world, clock };
    const silent = knownSoon(world, new Promise(() => {}));
    clock.pass(SURROUNDINGS_MS_MAX);
    expect(await silent).toEqual({ skills: null, persona: null });
    expect(await knownSoon(world, Promise.resolve(FILES))).toEqual(FILES);
  });
});
