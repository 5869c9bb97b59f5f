import { describe, expect, it } from "vitest";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { ModelConfig } from "../../core/session/state.ts";
import type { SessionHost } from "../host.ts";
import type { LiveSession } from "../live.ts";
import { ada, NEVER, named, turn, withSession } from "../runtime.fixture.ts";
import { echo, finishedShown, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";

interface Opened {
  readonly stage: Stage;
  readonly runtime: SessionHost;
  readonly live: LiveSession;
}

async function opened(...flags: readonly string[]): Promise<Opened & { key: LiveSession["key"] }> {
  const stage = await Stage.open({ profiles: new Map([echo(...flags)]) });
  return { stage, ...(await withSession(stage, ada)) };
}

/** A session that is made with this configuration, at an echo with these flags. */
async function made(modelConfig: ModelConfig, ...flags: readonly string[]) {
  const session = await opened(...flags);
  const { stage, runtime } = session;
  const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
  const creation = { ...CREATION, workspaceCwd: stage.folder, modelConfig };
  const { live } = value(await runtime.create({ key, creation, actor: ada }));
  return { ...session, key, live };
}

/** What a client sees that loads the session. */
async function told({ runtime, live }: Opened): Promise<readonly LogEvent[]> {
  const replay = value(await runtime.replay(live.key, "full"));
  const all = [...finishedShown(replay), ...replay.liveJournal];
  return all.flatMap((event) => ("id" in event ? [event] : []));
}

/** What a client sees that reads the stream from the beginning. */
async function logged({ stage, live }: Opened): Promise<readonly LogEvent[]> {
  const page = value(await stage.world.store.readEvents(live.key, { after: 0, limit: 1_000 }));
  return page.events.map(({ text }) => JSON.parse(text));
}

const NAMES = ["model", "effort", "temperature", "verbosity"] as const;

/** What the agent says that its model, effort, temperature and verbosity are. */
async function held(session: Opened): Promise<string> {
  await turn(session.live, "whoami");
  const said = (await told(session)).flatMap((event) =>
    event.type === "session_update" && event.data.update.sessionUpdate === "agent_message_chunk"
      ? [String(Object(event.data.update.content).text)]
      : [],
  );
  const last = said.at(-1) ?? "";
  return NAMES.map((name) => new RegExp(`^${name}: (.*)$`, "m").exec(last)?.[1]).join(" ");
}

const refusals = async (session: Opened) =>
  (await told(session)).flatMap(({ type, data }) =>
    type === "agent_setting_refused" || type === "model_switch_failed" ? [{ type, data }] : [],
  );

/** The same session after a restart, perhaps with agents that are made otherwise. */
async function reopened(before: Opened, profiles?: ReadonlyMap<string, AgentProfile>) {
  await before.runtime.shutDown(NEVER);
  const options = { folder: before.stage.folder, ...(profiles && { profiles }) };
  const stage = await Stage.open(options);
  const { runtime } = await withSession(stage, named("bob"));
  const { live } = value(await runtime.resume(before.live.key, ada));
  return { stage, runtime, live };
}

const ALL = { modelId: "echo-large", temperature: 0.2, reasoning: "high", verbosity: "low" };

describe("P7: the model of a session and how it is set", () => {
  it.each([
    [{ modelId: "echo-large" }, "echo-large medium 1 medium"],
    [{ temperature: 0.2 }, "echo-small medium 0.2 medium"],
    [{ reasoning: "high" }, "echo-small high 1 medium"],
    [{ verbosity: "low" }, "echo-small medium 1 low"],
    [ALL, "echo-large high 0.2 low"],
  ])("is set at the agent and then remembered: %j", async (change, atAgent) => {
    const session = await opened();
    value(await session.runtime.choices.changeModel(session.key, change, ada));
    expect(session.live.session.chosen.modelConfig).toEqual({ modelId: null, ...change });
    expect(await held(session)).toBe(atAgent);
    await session.runtime.shutDown(NEVER);
  });

  it("is told as the wire has it where the model changes, and whole wherever it does", async () => {
    const session = await opened();
    const { runtime, key } = session;
    value(await runtime.choices.changeModel(key, { temperature: 0.2 }, ada));
    value(
      await runtime.choices.changeModel(key, { modelId: "echo-large", reasoning: "high" }, ada),
    );
    const events = (await logged(session)).filter(({ type }) => type.startsWith("model_"));
    const first = { modelId: null, temperature: 0.2 };
    const by = { originatorClientId: "ada" };
    expect(events).toMatchObject([
      { type: "model_config_changed", ...by, data: { from: { modelId: null }, to: first } },
      { type: "model_switched", ...by, data: { modelId: "echo-large" } },
      {
        type: "model_config_changed",
        ...by,
        data: { from: first, to: { ...first, modelId: "echo-large", reasoning: "high" } },
      },
    ]);
    await runtime.shutDown(NEVER);
  });

  it("is the same after a restart, and at an agent that remembers nothing", async () => {
    const session = await opened();
    value(await session.runtime.choices.changeModel(session.key, ALL, ada));
    const profiles = new Map([echo("--no-load", "--no-resume")]);
    const again = await reopened(session, profiles);
    expect(again.live.session.chosen.modelConfig).toEqual(ALL);
    expect(await held(again)).toBe("echo-large high 0.2 low");
    await again.runtime.shutDown(NEVER);
  });

  it("is set at the agent that takes over, which says what it cannot take", async () => {
    const [, other] = echo("--no-effort");
    const profiles = new Map([echo(), ["other", { ...other, name: "other" }]]);
    const stage = await Stage.open({ profiles });
    const session = { stage, ...(await withSession(stage, ada)) };
    value(await session.runtime.choices.changeModel(session.key, ALL, ada));
    const by = { atMs: Date.now(), actor: ada };
    value(await session.runtime.submit(session.key, { ...by, type: "change_agent", to: "other" }));
    expect(await held(session)).toBe("echo-large medium 0.2 low");
    expect(await refusals(session)).toMatchObject([
      { type: "agent_setting_refused", data: { setting: "reasoning", value: "high" } },
    ]);
    expect(session.live.session.chosen.modelConfig).toEqual(ALL);
    await session.runtime.shutDown(NEVER);
  });

  it("is not touched for a client that the session does not know", async () => {
    const session = await opened();
    const refused = await session.runtime.choices.changeModel(session.key, ALL, named("eve"));
    expect(refused).toMatchObject({ ok: false, refusal: { code: "invalid_client_id" } });
    expect(await held(session)).toBe("echo-small medium 1 medium");
    await session.runtime.shutDown(NEVER);
  });

  it("is changed in the order in which changes were asked for", async () => {
    const session = await opened();
    const { runtime, key, live } = session;
    const changes = [
      { modelId: "echo-large" },
      { reasoning: "high", verbosity: "high" },
      { modelId: "echo-small", verbosity: "low" },
      { reasoning: "low" },
    ];
    await Promise.all(changes.map((change) => runtime.choices.changeModel(key, change, ada)));
    const changed = (await logged(session)).flatMap((event) =>
      event.type === "model_config_changed" ? [event.data.to] : [],
    );
    const first = { modelId: "echo-large" };
    const second = { ...first, reasoning: "high", verbosity: "high" };
    const third = { ...second, modelId: "echo-small", verbosity: "low" };
    expect(changed).toEqual([first, second, third, { ...third, reasoning: "low" }]);
    expect(live.session.chosen.modelConfig).toEqual({ ...third, reasoning: "low" });
    expect(await held(session)).toBe("echo-small low 1 low");
    await runtime.shutDown(NEVER);
  });

  it("is observed where the agent changes it, and the session's does not move", async () => {
    const session = await opened();
    value(await session.runtime.choices.changeModel(session.key, ALL, ada));
    await turn(session.live, "config model echo-cave", "config effort low");
    const updates = (await told(session)).flatMap((event) =>
      event.type === "session_update" ? [event.data.update] : [],
    );
    const seen = updates.filter(({ sessionUpdate }) => sessionUpdate === "config_option_update");
    expect(JSON.stringify(seen)).toContain('"currentValue":"echo-cave"');
    expect(session.live.session.chosen.modelConfig).toEqual(ALL);
    const again = await reopened(session);
    expect(await held(again)).toBe("echo-large high 0.2 low");
    await again.runtime.shutDown(NEVER);
  });
});

describe("P7: a change of the model that the agent does not take", () => {
  it("leaves the model as it is, and everybody is told", async () => {
    const session = await opened();
    const { runtime, key, live } = session;
    const refused = await runtime.choices.changeModel(key, { modelId: "no-such-model" }, ada);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "model_switch_failed" } });
    expect(live.session.chosen.modelConfig).toEqual({ modelId: null });
    expect(await refusals(session)).toMatchObject([
      { type: "model_switch_failed", data: { requestedModelId: "no-such-model" } },
    ]);
    await runtime.shutDown(NEVER);
  });

  it.each([
    ["has no such value", { reasoning: "boundless" }, [], "low, medium, high"],
    ["has no such option", { reasoning: "high" }, ["--no-effort"], "an option for reasoning"],
    ["says no", { reasoning: "high" }, ["--refuse-option", "effort"], "does not change its effort"],
  ])("in the middle, since it %s, leaves everything as it was", async (_, bad, flags, why) => {
    const session = await opened(...flags);
    const { runtime, key, live } = session;
    value(await runtime.choices.changeModel(key, { temperature: 0.5 }, ada));
    const change = { ...ALL, ...bad };
    const refused = await runtime.choices.changeModel(key, change, ada);
    const details = { setting: "reasoning", value: bad.reasoning };
    const reason = expect.stringContaining(why);
    expect(refused).toMatchObject({
      ok: false,
      refusal: { code: "agent_setting_refused", details: { ...details, reason } },
    });
    expect(await refusals(session)).toMatchObject([
      { type: "agent_setting_refused", data: { ...details, reason } },
    ]);
    expect(live.session.chosen.modelConfig).toEqual({ modelId: null, temperature: 0.5 });
    expect(await held(session)).toBe("echo-small medium 0.5 medium");
    await runtime.shutDown(NEVER);
  });

  it("says what the agent does not give back", async () => {
    const session = await opened("--refuse-option", "verbosity", "--reset-with-model");
    await turn(session.live, "config verbosity low");
    const change = { modelId: "echo-large", temperature: 0.3 };
    const refused = await session.runtime.choices.changeModel(session.key, change, ada);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "agent_setting_refused" } });
    expect(await refusals(session)).toMatchObject([
      { data: { setting: "temperature", value: 0.3 } },
      { data: { setting: "verbosity", value: "low" } },
    ]);
    expect(await held(session)).toBe("echo-small medium 1 medium");
    await session.runtime.shutDown(NEVER);
  });

  it("does not hold up the next one", async () => {
    const session = await opened("--refuse-option", "effort");
    const { runtime, key, live } = session;
    const [first, second] = await Promise.all([
      runtime.choices.changeModel(key, { verbosity: "high", reasoning: "high" }, ada),
      runtime.choices.changeModel(key, { temperature: 0.2 }, ada),
    ]);
    expect([first?.ok, second?.ok]).toEqual([false, true]);
    expect(live.session.chosen.modelConfig).toEqual({ modelId: null, temperature: 0.2 });
    expect(await held(session)).toBe("echo-small medium 0.2 medium");
    await runtime.shutDown(NEVER);
  });
});

describe("P7: what a session was made with", () => {
  it("is set at its agent before the first prompt", async () => {
    const session = await made(ALL);
    expect(await held(session)).toBe("echo-large high 0.2 low");
    expect(await refusals(session)).toEqual([]);
    await session.runtime.shutDown(NEVER);
  });

  it("and its agent cannot take is said of each part, and hinders nothing", async () => {
    const config = { ...ALL, modelId: "no-such-model", verbosity: "shouting" };
    const session = await made(config, "--no-temperature");
    expect(await held(session)).toBe("echo-small high 1 medium");
    expect(await refusals(session)).toMatchObject([
      { type: "model_switch_failed", data: { requestedModelId: "no-such-model" } },
      { type: "agent_setting_refused", data: { setting: "temperature", value: 0.2 } },
      { type: "agent_setting_refused", data: { setting: "verbosity", value: "shouting" } },
    ]);
    expect(session.live.session.chosen.modelConfig).toEqual(config);
    await session.runtime.shutDown(NEVER);
  });

  it("is set again at an agent that forgets it with another model", async () => {
    const session = await made({ modelId: null, reasoning: "high" }, "--reset-with-model");
    value(await session.runtime.choices.changeModel(session.key, { modelId: "echo-large" }, ada));
    expect(await held(session)).toBe("echo-large high 1 medium");
    const both = { modelId: "echo-small", verbosity: "low" };
    value(await session.runtime.choices.changeModel(session.key, both, ada));
    expect(await held(session)).toBe("echo-small high 1 low");
    await session.runtime.shutDown(NEVER);
  });
});
