import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { heard, openWork, Work, withoutError } from "./work.fixture.ts";

describe("POST /session/:id/model", () => {
  it("P7: changes the model, and tells everybody", async () => {
    const work = await Work.made(await openWork(), "ada");
    const stream = await work.stream();
    const body = { modelId: "echo-large" };
    const answer = await work.call("POST", "/model", { body, clientId: "ada" });
    expect([answer.status, answer.text]).toEqual([200, "{}"]);
    const switched = await heard(stream, "model_switched");
    expect(switched.data).toMatchObject({
      originatorClientId: "ada",
      data: { sessionId: work.id, modelId: "echo-large" },
    });
  });

  it("P7: leaves it as it is where the agent has no such model, and says why", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const answer = await work.call("POST", "/model", { body: { modelId: "no-such" } });
    expect(answer.status).toBe(500);
    expect(withoutError(answer.body)).toMatchObject({
      code: "model_switch_failed",
      requestedModelId: "no-such",
    });
    const failed = await heard(stream, "model_switch_failed");
    expect(failed.data.data).toMatchObject({
      requestedModelId: "no-such",
      error: expect.any(String),
    });
    expect(work.live.session.chosen.modelConfig.modelId).toBeNull();
  });

  it("P7: knows the models of an agent that lists them, and no others", async () => {
    const profiles = new Map([echo("--no-config", "--with-legacy-model")]);
    const work = await Work.made(await openWork({ stage: { profiles } }));
    const shown = async () => (await work.call("GET", "/context")).body.state;
    const availableModels = expect.arrayContaining([{ modelId: "echo-cave", name: "Echo Cave" }]);
    expect(await shown()).toMatchObject({
      models: { currentModelId: "echo-small", availableModels },
    });
    const refused = await work.call("POST", "/model", { body: { modelId: "nonsense-model" } });
    expect(refused.status).toBe(500);
    expect(refused.body).toMatchObject({ code: "model_switch_failed" });
    expect(refused.text).toContain("echo-small, echo-large, echo-cave");
    const switched = await work.call("POST", "/model", { body: { modelId: "echo-cave" } });
    expect(switched.status).toBe(200);
    expect(await shown()).toMatchObject({ models: { currentModelId: "echo-cave" } });
  });

  it("P7: changes how the model is set, and tells everybody", async () => {
    const work = await Work.made(await openWork(), "ada");
    const stream = await work.stream();
    const body = { temperature: 0.5, reasoning: "high", verbosity: "low" };
    const answer = await work.call("POST", "/model", { body, clientId: "ada" });
    expect([answer.status, answer.text]).toEqual([200, "{}"]);
    const changed = await heard(stream, "model_config_changed");
    expect(changed.data).toMatchObject({
      originatorClientId: "ada",
      data: { from: { modelId: null }, to: { modelId: null, ...body } },
    });
    expect(work.live.session.chosen.modelConfig).toEqual({ modelId: null, ...body });
  });

  it("P7: makes nothing of a change whose parts the agent does not all take", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const body = { modelId: "echo-large", reasoning: "boundless" };
    const answer = await work.call("POST", "/model", { body });
    expect(answer.status).toBe(500);
    const details = { setting: "reasoning", value: "boundless" };
    const reason = expect.stringContaining("low, medium, high");
    expect(withoutError(answer.body)).toEqual({
      code: "agent_setting_refused",
      ...details,
      reason,
    });
    const failed = await heard(stream, "agent_setting_refused");
    expect(failed.data.data).toMatchObject({ ...details, reason });
    expect(work.live.session.chosen.modelConfig).toEqual({ modelId: null });
  });

  it("does several changes one after the other, and the last one stays", async () => {
    const work = await Work.made(await openWork());
    const models = ["echo-large", "echo-small", "echo-large"];
    const changes = models.map((modelId) => work.call("POST", "/model", { body: { modelId } }));
    for (const { status } of await Promise.all(changes)) expect(status).toBe(200);
    expect(work.live.session.chosen.modelConfig.modelId).toBe("echo-large");
  });

  it("refuses what names no model, and clients that the session does not know", async () => {
    const work = await Work.made(await openWork());
    const odd = [
      { temperature: "hot" },
      { temperature: -1 },
      { temperature: 2.5 },
      { reasoning: 3 },
    ];
    const empty = [{}, { modelId: "" }, { modelId: 7 }, { verbosity: "" }, { colour: "red" }];
    const half = { modelId: "echo-large", reasoning: null };
    for (const body of [...empty, ...odd, half, { verbosity: "x".repeat(1_000) }]) {
      const answer = await work.call("POST", "/model", { body });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    }
    const body = { modelId: "echo-large" };
    const eve = await work.call("POST", "/model", { body, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const unknown = await work.world.call("POST", "/session/nobody/model", { body });
    expect([unknown.status, unknown.body.code]).toEqual([404, "session_not_found"]);
  });
});
