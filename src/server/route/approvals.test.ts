import { describe, expect, it } from "vitest";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import { echo } from "../../session/stage.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { Approvals } from "./approval.fixture.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("GET /session/:id/approvals", () => {
  it("says what a new session lets happen, and that nothing was granted or asked", async () => {
    const session = await Approvals.open({
      mode: "allowlist",
      allowlist: ["read:*"],
      autonomy: "supervised",
    });
    const rules = ["read", "write", "execute", "destructive"];
    expect(await session.view()).toEqual({
      v: 1,
      sessionId: session.path.slice("/session/".length),
      securityMode: "allowlist",
      allowlist: ["read:*"],
      approvalMode: "default",
      autonomy: "supervised",
      agentMode: { chosen: null, observed: "default" },
      plan: null,
      asking: { how: "by_default", sentence: "The agent asks by itself before it acts." },
      tiers: rules.map((tier) => ({ tier, rule: "allowlist" })),
      grants: [],
      asks: [],
      sandbox: { state: "none", provisionedAt: null, lastActivityAt: null },
      yours: { securityMode: "allowlist", autonomy: "supervised", selfApproval: true },
    });
  });

  it("P2: says where the agent is not known to ask, and so does all that tells of it", async () => {
    const session = await Approvals.open({}, { stage: { settings: { asking: new Map() } } });
    const asking = { how: "unknown", sentence: expect.stringContaining("not known") };
    expect(await session.view()).toMatchObject({ asking });
    const body = { sessionScope: "thread" };
    const made = await session.ada.call("POST", "/session", { body, clientId: "ada-1" });
    expect(made.body).toMatchObject({ asking });
    expect((await session.call("GET", "/status")).body).toMatchObject({ asking });
    expect((await session.call("POST", "/load", {})).body).toMatchObject({ asking });
  });

  it("P2, P7: says that asking is up to the mode that was chosen", async () => {
    const way = { ...ASKING_UNKNOWN, asks: "made_to", mode: "auto" } as const;
    const settings = { asking: new Map([["echo", way]]) };
    const session = await Approvals.open({}, { stage: { settings } });
    expect(await session.view()).toMatchObject({
      agentMode: { chosen: null, observed: "auto" },
      asking: { how: "made_to" },
    });
    expect((await session.call("GET", "/status")).body.asking).toBeUndefined();
    await session.call("POST", "/agent-mode", { mode: "default" });
    expect(await session.view()).toMatchObject({
      agentMode: { chosen: "default" },
      asking: {
        how: "up_to_mode",
        sentence: 'Whether the agent asks is up to its mode "default".',
      },
    });
    await session.call("POST", "/agent-mode", { mode: null });
    await session.turn("whoami");
    expect(await session.view()).toMatchObject({ asking: { how: "made_to" } });
  });

  it("P2: an agent is set to the options by which it asks, which is told if it fails", async () => {
    const options = { effort: "high", "no-such": "x" };
    const way = { ...ASKING_UNKNOWN, asks: "made_to", options } as const;
    const settings = { asking: new Map([["echo", way]]) };
    const session = await Approvals.open({}, { stage: { settings } });
    const { state } = (await session.call("POST", "/load", {})).body;
    const effort = { id: "effort", currentValue: "high" };
    expect(Object(state).configOptions).toContainEqual(expect.objectContaining(effort));
    const refusals = () =>
      session.stream.frames.flatMap(({ data }) =>
        data.type === "agent_setting_refused" ? [data.data] : [],
      );
    await session.stream.until(() => refusals().length > 0);
    expect(refusals()).toMatchObject([
      { setting: "option", value: "no-such=x", reason: expect.any(String) },
    ]);
    const asking = { how: "unknown", sentence: expect.stringContaining('"no-such"') };
    expect(await session.view()).toMatchObject({ asking });
    expect((await session.call("GET", "/status")).body).toMatchObject({ asking });
  });

  it("P7: `plan` is told as it is: whether the agent itself plans", async () => {
    const session = await Approvals.open();
    expect(await session.view()).toMatchObject({ plan: null });
    await session.call("POST", "/approval-mode", { mode: "plan" });
    await session.turn("whoami");
    expect(await session.view()).toMatchObject({ plan: { agent: "planning" } });
    // It leaves the mode by itself, and is not said to plan any more.
    await session.turn("mode auto");
    const left = { agent: "not_planning", note: expect.stringContaining('its mode "auto"') };
    expect(await session.view()).toMatchObject({ approvalMode: "plan", plan: left });
    const profiles = new Map([echo("--no-modes", "--no-config")]);
    const without = await Approvals.open({ approvalMode: "plan" }, { stage: { profiles } });
    expect(await without.view()).toMatchObject({ plan: { agent: "unknown" } });
  });

  it("P2: an agent without modes is not said to ask in one of them", async () => {
    const way = { ...ASKING_UNKNOWN, asks: "made_to", mode: "careful" } as const;
    const settings = { asking: new Map([["echo", way]]) };
    const profiles = new Map([echo("--no-modes", "--no-config")]);
    const session = await Approvals.open({}, { stage: { settings, profiles } });
    const asking = { how: "unknown", sentence: expect.stringContaining('"careful"') };
    expect(await session.view()).toMatchObject({ asking });
    const body = { sessionScope: "thread" };
    const made = await session.ada.call("POST", "/session", { body, clientId: "ada-1" });
    expect(made.body).toMatchObject({ asking });
  });

  it("P2: an agent is left in its own mode where everything may happen", async () => {
    const way = { ...ASKING_UNKNOWN, asks: "made_to", mode: "auto" } as const;
    const settings = { asking: new Map([["echo", way]]) };
    // Without users all callers are the operator, whom no policy binds.
    const options = { stage: { settings }, needsToken: false };
    const session = await Approvals.open({ mode: "yolo" }, options);
    expect(await session.view()).toMatchObject({
      agentMode: { observed: "default" },
      asking: { how: "not_wanted" },
    });
  });

  it("P8: an agent asks in every mode where users share its sessions", async () => {
    const way = { ...ASKING_UNKNOWN, asks: "made_to", mode: "auto" } as const;
    const settings = { asking: new Map([["echo", way]]) };
    const session = await Approvals.open({ mode: "yolo" }, { stage: { settings } });
    expect(await session.view()).toMatchObject({
      agentMode: { observed: "auto" },
      asking: { how: "made_to" },
    });
  });

  it("shows what is asked just now, and what the profile lets through", async () => {
    const stage = { settings: { askMs: 300_000 } };
    const session = await Approvals.open({ autonomy: "balanced" }, { stage });
    const requestId = await session.asked("ask kind=delete path=/tmp/x title=Remove");
    const { asks, tiers } = await session.view();
    expect(asks).toEqual([
      {
        requestId,
        kind: "permission",
        tier: "destructive",
        title: "Remove",
        since: expect.stringMatching(TIME),
        deadline: expect.stringMatching(TIME),
      },
    ]);
    expect(tiers).toEqual([
      { tier: "read", rule: "allow" },
      { tier: "write", rule: "allow" },
      { tier: "execute", rule: "ask" },
      { tier: "destructive", rule: "ask" },
    ]);
  });

  it("shows grants with who gave them and when, also long after", async () => {
    const session = await Approvals.open();
    await session.vote(await session.asked("ask kind=execute command=ls"), "allow_always");
    await session.turn("say something else");
    await session.turn("say something else again");
    const first = { key: "execute:ls", tier: "execute", clientId: "ada-1", userId: "ada" };
    expect((await session.view()).grants).toEqual([
      { ...first, since: expect.stringMatching(TIME) },
    ]);
    await session.asked("ask kind=edit path=/a.ts", "ask kind=execute command=ls");
    const { grants, asks } = await session.view();
    expect([grants, asks]).toMatchObject([[first], [{ tier: "write" }]]);
  });

  it("is answered from the store, without an agent; what was live is gone by then", async () => {
    const session = await Approvals.open({ autonomy: "supervised" });
    await session.vote(await session.asked("ask kind=execute command=ls"), "allow_always");
    await session.call("POST", "/sandbox", { state: "ready" });
    expect((await session.view()).sandbox).toMatchObject({ state: "ready" });
    const { stage } = session.people.world;
    await session.people.world.end();
    const next = await People.open({ stage: { folder: stage.folder } });
    const bob = await next.person("bob", "viewer");
    const { status, body } = await bob.call("GET", `${session.path}/approvals`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      autonomy: "supervised",
      agentMode: { chosen: null },
      grants: [],
      asks: [],
      sandbox: { state: "none", provisionedAt: null, lastActivityAt: null },
    });
    expect((await bob.call("GET", `${session.path}/status`)).body.status).toBe("inactive");
  });

  it("is for whoever may read, and of a session that is not there 404", async () => {
    const { people } = await Approvals.open();
    const bob = await people.person("bob", "viewer");
    const { status, body } = await bob.call("GET", "/session/nobody/approvals");
    expect([status, body.code]).toEqual([404, "session_not_found"]);
  });
});
