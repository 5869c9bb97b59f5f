import { describe, expect, it } from "vitest";
import { objectAt } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { SessionCaller } from "./caller.fixture.ts";
import { dataOf, type Wanted } from "./ear.fixture.ts";
import { echoAgent } from "./files.fixture.ts";

const server = sharedServer({
  agents: {
    forgets: echoAgent("--no-resume", "--no-load"),
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

/** These stand in the text one behind the other. */
function expectInOrder(text: string, ...parts: readonly string[]) {
  let place = 0;
  for (const part of parts) {
    const found = text.indexOf(part, place);
    if (found === -1) expect.fail(`${JSON.stringify(part)} is not behind ${place} in ${text}`);
    place = found + part.length;
  }
}

describe("an agent that has to be told what was said before", { timeout: 60_000 }, () => {
  const interrupted = ["say half an answer", 'tool t1 kind=edit title="Rename a.ts"'];

  /** A turn in which something was said and done, and that does not end. */
  async function atWork(session: SessionCaller) {
    const { lastEventId, promptId } = await session.send(...interrupted, "hang");
    const isDone: Wanted = (event) => {
      const { toolCallId, status } = objectAt(dataOf(event), "update") ?? {};
      return event.promptId === promptId && toolCallId === "t1" && status === "completed";
    };
    await session.first(isDone, Number(lastEventId));
  }

  it("P6: is told of turns that a kill of the server has interrupted, in their place", async () => {
    const session = await SessionCaller.create(server(), { agent: "forgets" });
    await session.say("say an old answer");
    await atWork(session);
    await restart();
    await session.say("say a new answer");
    await atWork(session);
    await restart();
    const { text } = await session.say("recall");
    const lost = [
      "User: say half an answer",
      "You: half an answer",
      "[tool: Rename a.ts: completed]",
      "You: (this turn was interrupted: ",
    ];
    expectInOrder(
      text,
      ...["<conversation_so_far>", "User: say an old answer", "You: an old answer", ...lost],
      ...["User: say a new answer", "You: a new answer", ...lost, "</conversation_so_far>"],
    );
  });

  it("P6: is told of a turn in which the agent died, be it the first of all", async () => {
    const session = await SessionCaller.create(server(), { agent: "forgets" });
    const { verdict } = await session.say(...interrupted, "crash 3");
    expect(verdict).toMatchObject({ code: "channel_closed" });
    expectInOrder(
      (await session.say("recall")).text,
      "User: say half an answer",
      "You: half an answer",
      "[tool: Rename a.ts: completed]",
      "You: (this turn was interrupted: The agent exited during the turn.)",
    );
    expect((await session.say("recall")).text).not.toContain("<conversation_so_far>");
  });

  it("is told of a turn that failed, and not of what never ran", async () => {
    const session = await SessionCaller.create(server(), { agent: "forgets" });
    await session.say("say half an answer", "fail -32603 overloaded");
    await session.say("/status");
    await restart();
    const { text } = await session.say("recall");
    expectInOrder(text, "User: say half an answer", "You: half an answer", "overloaded)");
    expect(text).not.toContain("/status");
  });
});
