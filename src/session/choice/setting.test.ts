import { describe, expect, it } from "vitest";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { Command } from "../../core/session/command.ts";
import type { SessionKey } from "../../store/store.ts";
import type { SessionHost } from "../host.ts";
import { ada, NEVER, turn, withSession } from "../runtime.fixture.ts";
import { echo, finishedShown, Stage, value } from "../stage.fixture.ts";

async function opened(...flags: readonly string[]) {
  const stage = await Stage.open({ profiles: new Map([echo(...flags)]) });
  return { stage, ...(await withSession(stage, ada)) };
}

/** All that was told, folded, as a client sees it that loads the session. */
async function told(runtime: SessionHost, key: SessionKey): Promise<readonly LogEvent[]> {
  const replay = value(await runtime.replay(key, "full"));
  const all = [...finishedShown(replay), ...replay.liveJournal];
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
    // The agent's answer may come after the verdict of the turn.
    const refused = async () => {
      return (await told(runtime, key)).filter(({ type }) => type === "agent_setting_refused");
    };
    await expect.poll(refused).toMatchObject([{ data: { setting: "mode", value: "plan" } }]);
    expect(live.session.chosen.approvalMode).toBe("plan");
    await runtime.shutDown(NEVER);
  });
});
