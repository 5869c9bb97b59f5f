import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { ApprovalMode } from "../../core/policy/risk.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { SessionHost } from "../host.ts";
import type { LiveSession } from "../live.ts";
import { ada, NEVER, named, turn, withSession } from "../runtime.fixture.ts";
import { echo, finishedShown, promptOf, Stage, value } from "../stage.fixture.ts";

interface Opened {
  readonly stage: Stage;
  readonly runtime: SessionHost;
  readonly live: LiveSession;
}

type Profiles = ReadonlyMap<string, AgentProfile>;

async function opened(profiles: Profiles = new Map([echo()])): Promise<Opened> {
  const stage = await Stage.open({ profiles });
  return { stage, ...(await withSession(stage, ada)) };
}

const choose = ({ runtime, live }: Opened, mode: string | null) =>
  runtime.choices.changeAgentMode(live.key, mode, ada);

const say = async ({ runtime, live }: Opened, mode: ApprovalMode) => {
  const by = { atMs: Date.now(), actor: ada };
  const command = { ...by, type: "approval_mode", mode, persisted: false } as const;
  value(await runtime.submit(live.key, command));
};

/** All that was told, as a client sees it that loads the session. */
async function told({ runtime, live }: Opened): Promise<readonly LogEvent[]> {
  const replay = value(await runtime.replay(live.key, "full"));
  const all = [...finishedShown(replay), ...replay.liveJournal];
  return all.flatMap((event) => ("id" in event ? [event] : []));
}

/** The modes that the agent has said it is in, one for each time that it was asked. */
async function modesSaid(session: Opened): Promise<readonly string[]> {
  const said = (await told(session)).flatMap((event) =>
    event.type === "session_update" && event.data.update.sessionUpdate === "agent_message_chunk"
      ? [String(Object(event.data.update.content).text)]
      : [],
  );
  return said.flatMap((text) => /^mode: (.*)$/m.exec(text)?.[1] ?? []);
}

/** The mode that the agent is in, as it says itself. */
async function held(session: Opened): Promise<string | undefined> {
  await turn(session.live, "whoami");
  return (await modesSaid(session)).at(-1);
}

/** The same session in a new server, with its agent still away. */
async function atRest(before: Opened, profiles?: Profiles): Promise<Opened> {
  await before.runtime.shutDown(NEVER);
  const stage = await Stage.open({ folder: before.stage.folder, ...(profiles && { profiles }) });
  const runtime = new SessionHost(stage.world);
  return { stage, runtime, live: value(await runtime.find(before.live.key)) };
}

const refusals = async (session: Opened) =>
  (await told(session)).filter(({ type }) => type === "agent_setting_refused");

/** One that has its sessions, and the modes of them, in a folder. */
function remembering(): Profiles {
  const folder = mkdtempSync(join(tmpdir(), "fermata-echo-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return new Map([echo("--state", folder)]);
}

const FORGETFUL = new Map([echo("--no-load", "--no-resume")]);

describe("P7: the agent's own mode", () => {
  it("is what was chosen from the next turn on, and then the usual one again", async () => {
    const session = await opened();
    expect(value(await choose(session, "auto"))).toBeNull();
    expect(await held(session)).toBe("auto");
    expect(value(await choose(session, "plan"))).toBe("auto");
    expect(await held(session)).toBe("plan");
    expect(value(await choose(session, null))).toBe("plan");
    expect(await held(session)).toBe("default");
    await session.runtime.shutDown(NEVER);
  });

  it("does not change in the middle of a turn", async () => {
    const session = await opened();
    const { live } = session;
    await live.submit(promptOf(live, "ask kind=edit path=/a.ts", "whoami"));
    await live.until(({ connection }) => connection.sessionState === "waiting");
    value(await choose(session, "auto"));
    expect(live.session.connection.agentMode).toBe("auto");
    const [requestId] = live.session.connection.turn.openAsks.keys();
    const outcome = { outcome: "selected", optionId: "allow_once" } as const;
    const by = { atMs: Date.now(), actor: ada };
    const vote = { ...by, type: "vote", requestId: requestId ?? expect.fail(), outcome } as const;
    expect((await live.submit(vote)).refusal).toBeNull();
    await live.until(({ running }) => running === null);
    expect(await modesSaid(session)).toEqual(["default"]);
    expect(await held(session)).toBe("auto");
    await session.runtime.shutDown(NEVER);
  });

  it.each([
    ["that remembers", remembering],
    ["that remembers nothing", () => FORGETFUL],
  ])("is the same after a restart, at an agent %s", async (_, kind) => {
    const profiles = kind();
    const before = await opened(profiles);
    value(await choose(before, "auto"));
    await held(before);
    const session = await atRest(before, profiles);
    expect(session.live.session.connection.agentMode).toBe("auto");
    expect(await held(session)).toBe("auto");
    value(await choose(session, "plan"));
    value(await choose(session, null));
    expect(await held(session)).toBe("default");
    await session.runtime.shutDown(NEVER);
  });

  it("that was left while the agent was away is not what that comes back in", async () => {
    const profiles = remembering();
    const before = await opened(profiles);
    value(await choose(before, "auto"));
    expect(await held(before)).toBe("auto");
    const session = await atRest(before, profiles);
    expect(value(await choose(session, null))).toBe("auto");
    expect(session.live.agent).toBeNull();
    expect(await held(session)).toBe("default");
    await session.runtime.shutDown(NEVER);
  });

  it("that the agent went into by itself is one that it may come back in", async () => {
    const profiles = remembering();
    const before = await opened(profiles);
    await turn(before.live, "mode auto");
    const session = await atRest(before, profiles);
    expect(await held(session)).toBe("auto");
    expect(session.live.session.connection.agentMode).toBeNull();
    await session.runtime.shutDown(NEVER);
  });

  it.each([
    ["plan", "plan"],
    [null, "default"],
  ])("that is %s and was left by the agent is gone back to when chosen again", async (mode, id) => {
    const session = await opened();
    value(await choose(session, mode));
    await turn(session.live, "mode auto");
    expect(await held(session)).toBe("auto");
    expect(session.live.session.connection.agentMode).toBe(mode);
    value(await choose(session, mode));
    expect(await held(session)).toBe(id);
    await session.runtime.shutDown(NEVER);
  });

  it.each([
    ["plan", "plan"],
    ["default", "default"],
  ] as const)(
    "that the word %s stands for is gone back to when that is said again",
    async (word, id) => {
      const session = await opened();
      await say(session, word);
      await turn(session.live, "mode auto");
      expect(await held(session)).toBe("auto");
      await say(session, word);
      expect(await held(session)).toBe(id);
      await session.runtime.shutDown(NEVER);
    },
  );

  it.each([
    ["back, though it was left before the restart", []],
    ["usual, though it comes back in another", ["plan"]],
  ] as const)("%s, is never what the agent went into by itself", async (_, words) => {
    const profiles = remembering();
    const before = await opened(profiles);
    await turn(before.live, "mode auto");
    const session = await atRest(before, profiles);
    expect(await held(session)).toBe("auto");
    for (const word of [...words, "default"] as const) await say(session, word);
    expect(await held(session)).toBe("default");
    await session.runtime.shutDown(NEVER);
  });

  it("that was chosen again while the agent was away is what that is put into", async () => {
    const profiles = remembering();
    const before = await opened(profiles);
    await turn(before.live, "mode auto");
    const session = await atRest(before, profiles);
    value(await choose(session, null));
    expect(session.live.agent).toBeNull();
    expect(await held(session)).toBe("default");
    await session.runtime.shutDown(NEVER);
  });

  it("is kept for an agent that takes over, which says if it lacks it", async () => {
    const [, other] = echo("--no-modes", "--no-config");
    const session = await opened(new Map([echo(), ["other", { ...other, name: "other" }]]));
    value(await choose(session, "auto"));
    const by = { atMs: Date.now(), actor: ada };
    const { key } = session.live;
    value(await session.runtime.submit(key, { ...by, type: "change_agent", to: "other" }));
    await turn(session.live, "say hello");
    expect(await refusals(session)).toMatchObject([{ data: { setting: "mode", value: "auto" } }]);
    expect(session.live.session.connection.agentMode).toBe("auto");
    value(await session.runtime.submit(key, { ...by, type: "change_agent", to: "echo" }));
    expect(await held(session)).toBe("auto");
    await session.runtime.shutDown(NEVER);
  });

  it("is that of a fork too, which goes its own way from there", async () => {
    const session = await opened();
    value(await choose(session, "auto"));
    await held(session);
    const order = { actor: ada, turnId: null, name: null };
    const forked = value(await session.runtime.side.fork(session.live.key, order));
    const live = value(await session.runtime.find(forked?.key ?? expect.fail()));
    const fork = { ...session, live };
    expect(live.session.connection.agentMode).toBe("auto");
    await turn(live, "whoami");
    expect((await modesSaid(fork)).at(-1)).toBe("auto");
    const actor = { kind: "server" } as const;
    value(await session.runtime.choices.changeAgentMode(live.key, null, actor));
    expect(await held(fork)).toBe("default");
    expect(await held(session)).toBe("auto");
    await session.runtime.shutDown(NEVER);
  });
});

describe("P7: a mode that the agent does not offer", () => {
  it.each([
    [
      "lists those that it does",
      [],
      {
        code: "agent_choice_unknown",
        details: { setting: "mode", choices: "default, plan, auto" },
      },
    ],
    [
      "says so where it has none",
      ["--no-modes"],
      { code: "agent_unsupported", details: { method: "any modes" } },
    ],
  ] as const)("is refused before anything is recorded, and %s", async (_, flags, refusal) => {
    const session = await opened(new Map([echo(...flags)]));
    const { lastEventId } = session.live;
    expect(await choose(session, "Auto")).toMatchObject({
      ok: false,
      refusal,
    });
    expect(session.live.lastEventId).toBe(lastEventId);
    expect(session.live.session.connection.agentMode).toBeNull();
    await session.runtime.shutDown(NEVER);
  });

  it("is looked up at an agent that is brought for it, if there is none", async () => {
    const session = await atRest(await opened());
    expect(session.live.agent).toBeNull();
    expect(await choose(session, "dream")).toMatchObject({
      ok: false,
      refusal: { code: "agent_choice_unknown" },
    });
    value(await choose(session, "auto"));
    expect(session.live.agent).not.toBeNull();
    expect(await held(session)).toBe("auto");
    await session.runtime.shutDown(NEVER);
  });

  it("brings no agent for a client that the session does not know", async () => {
    const session = await atRest(await opened());
    const { runtime, live } = session;
    const eve = await runtime.choices.changeAgentMode(live.key, "auto", named("eve"));
    expect(eve).toMatchObject({ ok: false, refusal: { code: "invalid_client_id" } });
    expect(live.agent).toBeNull();
    await runtime.shutDown(NEVER);
  });
});
