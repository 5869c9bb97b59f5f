import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

const LOUD = { configId: "loud", value: true };

/** What the agent says that its options are set to. */
async function optionsNow(session: Approvals): Promise<Record<string, unknown>> {
  const { body } = await session.call("GET", "/context");
  const { configOptions } = Object(body.state);
  return Object.fromEntries(
    [configOptions].flat().map((one) => [Object(one).id, Object(one).currentValue]),
  );
}

describe("POST /session/:id/config-option", () => {
  it("P7: sets an option of the agent's own and nothing else, and says who did", async () => {
    const session = await Approvals.open();
    const before = await optionsNow(session);
    const changed = await session.call("POST", "/config-option", LOUD);
    expect([changed.status, changed.body.persisted], changed.text).toEqual([200, false]);
    expect(changed.body.configOptions).toContainEqual(
      expect.objectContaining({ id: "loud", type: "boolean", currentValue: true }),
    );
    const told = await heard(session.stream, "agent_option_changed");
    expect(told.data).toMatchObject({
      originatorClientId: "ada-1",
      data: { configId: "loud", value: true, category: null },
    });
    expect(await optionsNow(session)).toEqual({ ...before, loud: true });
    expect((await session.view()).asking).toEqual({
      how: "up_to_option",
      sentence: 'Whether the agent asks is up to its option "loud", which was set.',
    });
    const { body } = await session.call("GET", "/audit?limit=100");
    expect(body.entries).toContainEqual(
      expect.objectContaining({
        act: "agent_option_changed",
        details: { configId: "loud", value: true },
      }),
    );
  });

  it("P7: is set again when the agent comes back without it", async () => {
    const profiles = new Map([echo("--no-load", "--no-resume")]);
    const session = await Approvals.open({}, { stage: { profiles } });
    await session.call("POST", "/config-option", LOUD);
    await session.prompt("crash");
    await heard(session.stream, "session_died");
    const back = await session.call("POST", "/load", {});
    expect(back.status, back.text).toBe(200);
    expect(await optionsNow(session)).toMatchObject({ loud: true });
  });

  it("changes the model, its settings and the mode as their own routes do", async () => {
    const session = await Approvals.open();
    const set = (configId: string, value: string) =>
      session.call("POST", "/config-option", { configId, value });
    expect((await set("model", "echo-large")).status).toBe(200);
    const model = await heard(session.stream, "model_switched");
    expect(model.data.data).toMatchObject({ modelId: "echo-large" });
    expect((await set("reasoning_effort", "high")).status).toBe(200);
    const told = await heard(session.stream, "model_config_changed");
    expect(told.data.data).toMatchObject({ to: { modelId: "echo-large" } });
    expect(await optionsNow(session)).toMatchObject({ model: "echo-large", effort: "high" });
    expect((await set("effort", "low")).status).toBe(200);
    expect(await optionsNow(session)).toMatchObject({ effort: "low" });
    expect((await session.view()).asking).toMatchObject({ how: "by_default" });
  });

  it.each([
    [{ configId: "quiet", value: true }, "agent_choice_unknown"],
    [{ configId: "loud", value: "true" }, "agent_choice_unknown"],
    [{ configId: "model", value: "gpt" }, "agent_choice_unknown"],
    [{ configId: "model", value: true }, "agent_choice_unknown"],
    [{ configId: "loud" }, "invalid_request"],
    [{ configId: "", value: true }, "invalid_request"],
    [{ configId: "loud", value: 1 }, "invalid_request"],
    [{ ...LOUD, persist: "yes" }, "invalid_persist_flag"],
  ])("refuses %j", async (body, code) => {
    const session = await Approvals.open();
    const answer = await session.call("POST", "/config-option", body);
    expect([answer.status, answer.body.code], answer.text).toEqual([400, code]);
    expect(await optionsNow(session)).toMatchObject({ loud: false });
  });

  it("is for clients that the session knows, and of one that is not there 404", async () => {
    const { ada, path } = await Approvals.open();
    const eve = await ada.call("POST", `${path}/config-option`, { body: LOUD, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const none = await ada.call("POST", "/session/nobody/config-option", { body: LOUD });
    expect([none.status, none.body.code]).toEqual([404, "session_not_found"]);
  });
});
