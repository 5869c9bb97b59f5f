import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { SessionCaller } from "./caller.fixture.ts";
import { echoAgent } from "./files.fixture.ts";

const server = sharedServer({
  agents: {
    late: echoAgent("--no-resume", "--late-replay", "--state", ".echo/late"),
  },
});

async function restart() {
  await server().kill("SIGKILL");
  await server().restart();
}

describe("an agent that says the past again behind its answer", { timeout: 60_000 }, () => {
  it("P3: is not heard saying it, after a kill of the server", async () => {
    const session = await SessionCaller.create(server(), { agent: "late" });
    for (const word of ["one", "two", "three"]) await session.say(`say old-${word}`);
    await restart();
    const { text, events } = await session.say("say new");
    expect(text).toBe("new");
    // Also outside of turns, where it came in the time before the prompt.
    expect(JSON.stringify(events)).not.toContain("old-");
    expect((await session.say("recall")).text).toMatch(
      /^I remember 4 turns; last you said "say new"/,
    );
    const spoken = (await session.messages()).filter(({ role }) => role === "assistant");
    expect(spoken.map(({ content }) => Object(content)[0]?.text)).toEqual([
      "old-one",
      "old-two",
      "old-three",
      "new",
      expect.stringContaining("I remember"),
    ]);
  });
});
