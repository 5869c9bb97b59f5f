import { describe, expect, it } from "vitest";
import { refusal } from "../../core/error.ts";
import { AGENT_COMMANDS_MS_MAX } from "../../core/limits.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { NEVER } from "../runtime.fixture.ts";
import { PatientClock } from "../side/side.fixture.ts";
import { Stage, value } from "../stage.fixture.ts";
import { agentCommands } from "./slash-commands.ts";

/** A session whose agent a test plays, on a clock that stands still for long waits. */
async function played() {
  const stage = await Stage.open();
  const agents = new PlayedAgents();
  let nowMs = 0;
  const patient = new PatientClock(stage.world.clock, 1);
  const clock = { nowMs: () => nowMs, after: patient.after };
  const pass = () => {
    nowMs += AGENT_COMMANDS_MS_MAX;
    patient.pass(AGENT_COMMANDS_MS_MAX);
  };
  const session = await playedSession(stage, agents, { clock });
  const offer = (...names: readonly string[]) =>
    agents.last.update({
      sessionUpdate: "available_commands_update",
      availableCommands: names.map((name) => ({ name, description: name })),
    });
  const world = { ...stage.world, agents, clock };
  return { agents, offer, pass, ask: () => agentCommands(world, session.live), ...session };
}

describe("an agent's own commands", () => {
  it("are those that it offered last", async () => {
    const { runtime, ask, offer } = await played();
    await offer("one", "two");
    expect(value(await ask())).toEqual(["one", "two"]);
    await offer("two");
    expect(value(await ask())).toEqual(["two"]);
    await runtime.shutDown(NEVER);
  });

  it("are waited for, from one that has just come and said nothing yet", async () => {
    const { runtime, ask, offer } = await played();
    const commands = ask();
    await offer("late");
    expect(value(await commands)).toEqual(["late"]);
    await runtime.shutDown(NEVER);
  });

  it("are none, of one that had its time to say so", async () => {
    const { runtime, ask, pass } = await played();
    const commands = ask();
    pass();
    expect(value(await commands)).toEqual([]);
    pass();
    expect(value(await ask())).toEqual([]);
    await runtime.shutDown(NEVER);
  });

  it("are not known, where no agent can be had", async () => {
    const { runtime, agents, live, ask } = await played();
    await live.submit({
      type: "stop",
      atMs: 0,
      actor: { kind: "server" },
      reason: "idle_timeout",
    });
    await live.until(({ connection }) => connection.sessionState === "inactive");
    agents.refusal = refusal("agent_unknown", { profile: "echo", known: "" });
    expect(await ask()).toMatchObject({ refusal: { code: "agent_unknown" } });
    await runtime.shutDown(NEVER);
  });
});
