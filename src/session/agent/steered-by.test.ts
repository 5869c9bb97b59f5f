import { describe, expect, it } from "vitest";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import type { Actor, Command } from "../../core/session/command.ts";
import { client, clientId, Life, newPrompt } from "../../core/session/life.fixture.ts";
import { writeEvents } from "../actor/written.ts";
import { Stage } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { AgentSide } from "./agent-side.ts";

const TENANT = given(parseTenantId("acme"));
const ADA = given(parseUserId("ada"));
const BY_ADA: Actor = { kind: "client", clientId: clientId("desk"), userId: ADA, loopback: true };

/** What becomes of a word in between whose agent is gone by then. */
async function steered(by: Actor, leaves: boolean) {
  const stage = await Stage.open();
  const life = new Life().running();
  life.give("attach", { clientId: clientId("desk"), idle: [] }, BY_ADA);
  const word = { messageId: "m", prompt: newPrompt("p-m"), agentCanSteer: true };
  const written = writeEvents(life.give("steer", word, by).events, 1);
  if (leaves) life.give("detach", { clientId: clientId("desk") }, BY_ADA);
  const said: Command[] = [];
  const seat = {
    key: { tenantId: TENANT, sessionId: life.now.sessionId },
    epoch: "e",
    decided: life.now,
    lastEventId: 1,
    term: 1,
    submit: async (command: Command) => {
      said.push(command);
      return null;
    },
    tell: () => {},
    settled: async () => {},
    backpressure: () => undefined,
    recordAct: async () => {},
  };
  const side = new AgentSide(stage.world, seat, {
    present: () => [],
    past: () => null,
    skipped: () => [],
    files: null,
    extensions: null,
    delegation: null,
    stages: null,
    opinions: null,
  });
  side.durable(written);
  return said;
}

describe("a word in between that the agent could not take", () => {
  it("waits as a prompt of whoever said it, who pays for it", async () => {
    const [prompt, ...more] = await steered(BY_ADA, false);
    expect(more).toEqual([]);
    expect(prompt).toMatchObject({
      type: "prompt",
      actor: { kind: "client", clientId: "desk", userId: "ada" },
    });
  });

  it("is theirs also when their client has left meanwhile", async () => {
    const [prompt] = await steered(BY_ADA, true);
    expect(prompt?.actor).toMatchObject({ kind: "client", clientId: null, userId: "ada" });
  });

  it("is nobody's by name where nobody has one", async () => {
    const [prompt] = await steered(client(null), false);
    expect(prompt?.actor).toMatchObject({ kind: "client", clientId: null, userId: null });
  });
});
