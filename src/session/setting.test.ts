import { describe, expect, it } from "vitest";
import type { LogEvent } from "../core/replay/join.ts";
import type { Command } from "../core/session/command.ts";
import type { SessionKey } from "../store/store.ts";
import { ada, NEVER, named, turn, withSession } from "./runtime.fixture.ts";
import type { SessionRuntime } from "./runtime.ts";
import { echo, Stage, value } from "./stage.fixture.ts";

async function opened(...flags: readonly string[]) {
  const stage = await Stage.open({ profiles: new Map([echo(...flags)]) });
  return { stage, ...(await withSession(stage, ada)) };
}

/** All that was told, folded, as somebody is shown who loads the session. */
async function told(runtime: SessionRuntime, key: SessionKey): Promise<readonly LogEvent[]> {
  const { compactedReplay, liveJournal } = value(await runtime.replay(key, "full"));
  const all = [...compactedReplay, ...liveJournal];
  return all.flatMap((event) => ("id" in event ? [event] : []));
}

/** What the agent says that it is set to. */
async function whoami({ runtime, key, live }: Awaited<ReturnType<typeof opened>>) {
  await turn(live, "whoami");
  const said = (await told(runtime, key)).flatMap((event) =>
    event.type === "session_update" && event.data.update.sessionUpdate === "agent_message_chunk"
      ? [JSON.stringify(event.data.update.content)]
      : [],
  );
  return said.at(-1) ?? "";
}

describe("P7: the model of a session", () => {
  it("is set at the agent and then remembered, and set again at the next agent", async () => {
    const session = await opened();
    const { runtime, key, live, stage } = session;
    value(await runtime.changeModel(key, "echo-large", ada));
    expect(live.session.chosen.modelConfig.modelId).toBe("echo-large");
    expect(await whoami(session)).toContain("echo-large");
    await runtime.shutDown(NEVER);

    const next = await Stage.open({ folder: stage.folder });
    const again = await withSession(next, named("bob"));
    const resumed = value(await again.runtime.resume(key, ada)).live;
    const reopened = { ...again, key, live: resumed, stage: next };
    expect(await whoami(reopened)).toContain("echo-large");
    await again.runtime.shutDown(NEVER);
  });

  it("stays what it is if the agent has no such model, and everybody is told", async () => {
    const { runtime, key, live } = await opened();
    const refused = await runtime.changeModel(key, "no-such-model", ada);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "model_switch_failed" } });
    expect(live.session.chosen.modelConfig.modelId).toBeNull();
    expect((await told(runtime, key)).map(({ type }) => type)).toContain("model_switch_failed");
    await runtime.shutDown(NEVER);
  });

  it("is not touched for a client that the session does not know", async () => {
    const session = await opened();
    const refused = await session.runtime.changeModel(session.key, "echo-large", named("eve"));
    expect(refused).toMatchObject({ ok: false, refusal: { code: "invalid_client_id" } });
    expect(await whoami(session)).not.toContain("echo-large");
    await session.runtime.shutDown(NEVER);
  });

  it("is changed in the order in which changes were asked for", async () => {
    const { runtime, key, live } = await opened();
    const models = ["echo-large", "echo-small", "echo-large", "echo-small"];
    await Promise.all(models.map((modelId) => runtime.changeModel(key, modelId, ada)));
    const switched = (await told(runtime, key)).flatMap((event) =>
      event.type === "model_switched" ? [event.data.modelId] : [],
    );
    expect(switched).toEqual(models);
    expect(live.session.chosen.modelConfig.modelId).toBe("echo-small");
    await runtime.shutDown(NEVER);
  });
});

describe("the approval mode `plan`", () => {
  const set = (mode: "plan" | "default"): Command<"approval_mode"> => {
    return { type: "approval_mode", atMs: Date.now(), actor: ada, mode, persisted: false };
  };

  it("puts the agent into its own mode of that name, and back", async () => {
    const session = await opened();
    const before = await whoami(session);
    value(await session.runtime.submit(session.key, set("plan")));
    expect(await whoami(session)).toContain("plan");
    value(await session.runtime.submit(session.key, set("default")));
    expect(await whoami(session)).toBe(before);
    await session.runtime.shutDown(NEVER);
  });

  it("of an agent without such a mode is said not to be there", async () => {
    const { runtime, key, live } = await opened("--no-modes", "--no-config");
    value(await runtime.submit(key, set("plan")));
    await turn(live, "say on we go");
    const refused = (await told(runtime, key)).filter(({ type }) => type === "agent_mode_refused");
    expect(refused).toMatchObject([{ data: { mode: "plan" } }]);
    expect(live.session.chosen.approvalMode).toBe("plan");
    await runtime.shutDown(NEVER);
  });
});
