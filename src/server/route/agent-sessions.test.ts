import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AgentHomes } from "../../agent/credential/agent-homes.ts";
import { SecretFolder } from "../../agent/credential/credential.fixture.ts";
import { Credentials } from "../../agent/credential/credentials.ts";
import { profileOf } from "../../agent/profile/profile.ts";
import { DaemonWorld } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import { granted, IDLE } from "../http/server.fixture.ts";
import { ACME, user } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { allRoutes } from "./all-routes.ts";
import { keyOf } from "./life.fixture.ts";

const AGENT = fileURLToPath(
  new URL("../../agent/bridge/keeping-agent.fixture.ts", import.meta.url),
);
const LIST = "/agents/echo/sessions";
const ADOPT = "/agents/echo/sessions/adopt";
const PROMPT = { prompt: [{ type: "text", text: "hello" }] };

/** An agent that keeps its sessions in the workspace, or in the home of its user. */
function keeping(...features: readonly string[]) {
  const args = [AGENT, ...features];
  const home = "KEEPING_HOME";
  const profile = profileOf({ name: "echo", command: process.execPath, args, home });
  return { profiles: new Map([["echo", profile]]) };
}

const routes = (daemon: Daemon) => allRoutes(daemon, "0", async () => IDLE).routes;

type StageOptions = Parameters<typeof DaemonWorld.open>[0]["stage"];

/** A server of one person, whose agent has had these sessions before. */
function worldWith(features: readonly string[], ...ids: readonly string[]) {
  return staged(keeping("list", ...features), ids);
}

async function staged(stage: StageOptions, ids: readonly string[]) {
  const world = await DaemonWorld.open({ routes, stage });
  const { folder } = world.stage;
  const kept = ids.map((sessionId) => ({ sessionId, cwd: folder, title: `about ${sessionId}` }));
  const other = { sessionId: "elsewhere", cwd: "/elsewhere", title: "of another workspace" };
  const file = join(folder, "kept-sessions.json");
  writeFileSync(file, JSON.stringify([...kept, other]));
  const listed = async () => {
    const { body } = await world.call("GET", LIST);
    return [body.sessions].flat().map((one) => Object(one).agentSessionId);
  };
  const adopt = (agentSessionId: string) => world.call("POST", ADOPT, { body: { agentSessionId } });
  const calls = () => readFileSync(join(folder, "calls.jsonl"), "utf8");
  return { world, folder, listed, adopt, calls, keptText: () => readFileSync(file, "utf8") };
}

describe("an agent's own sessions", () => {
  it("are listed for the operator, but not those that are ours or elsewhere", async () => {
    const { world, folder, listed } = await worldWith(["resume"], "mine");
    const made = await world.call("POST", "/session", { body: { sessionScope: "thread" } });
    const path = `/session/${made.body.sessionId}`;
    expect((await world.call("POST", `${path}/prompt`, { body: PROMPT })).status).toBe(202);
    const row = { agentSessionId: "mine", title: "about mine", updatedAt: null, cwd: folder };
    const { status, body } = await world.call("GET", LIST);
    expect([status, body]).toEqual([200, { workspaceCwd: folder, sessions: [row] }]);
    // Not in memory any more, and still ours.
    expect((await world.call("DELETE", path)).status).toBe(204);
    expect(await listed()).toEqual(["mine"]);
  });

  it.each(["resume", "load"])("become sessions of ours by session/%s, once", async (way) => {
    const { world, listed, adopt, calls } = await worldWith([way], "mine", "other");
    const [one, two] = await Promise.all([adopt("mine"), adopt("mine")]);
    expect([one.status, two.status].toSorted(), one.text).toEqual([200, 409]);
    const { body } = one.status === 200 ? one : two;
    expect(body).toMatchObject({ status: "ready", attached: false, sourceType: "adopted" });
    const refused = one.status === 200 ? two.body : one.body;
    expect(refused).toMatchObject({ code: "agent_session_taken" });
    expect(refused).not.toHaveProperty("sessionId");
    expect(calls()).toMatch(new RegExp(`session/${way}.*"sessionId":"mine"`));
    expect(await listed()).toEqual(["other"]);
    const path = `/session/${body.sessionId}`;
    expect((await world.call("POST", `${path}/prompt`, { body: PROMPT })).status).toBe(202);
    expect((await world.call("DELETE", path)).status).toBe(204);
    expect((await adopt("mine")).status).toBe(409);
    expect(calls()).not.toContain("session/new");
  });

  it.each([
    ["bad-resume", ["resume", "bad-resume", "delete"], 502, "agent_call_failed"],
    ["neither", ["delete"], 502, "agent_call_failed"],
  ])("stay with an agent that cannot restore them: %s", async (_, features, status, code) => {
    const { world, adopt, keptText } = await worldWith(features, "mine");
    const failed = await adopt("mine");
    expect([failed.status, failed.body.code], failed.text).toEqual([status, code]);
    expect(keptText()).toContain("about mine");
    const id = encodeURIComponent(world.stage.folder);
    expect((await world.call("GET", `/workspace/${id}/sessions`)).body.sessions).toEqual([]);
  });

  it("P5: are free again, and no session is left, where there is no place for one", async () => {
    const settings = { sessionsLiveMax: 1 };
    const stage = { ...keeping("list", "resume", "delete"), settings };
    const { world, adopt, keptText } = await staged(stage, ["mine"]);
    const made = await world.call("POST", "/session", { body: { sessionScope: "thread" } });
    const key = keyOf(String(made.body.sessionId));
    const stream = granted(await world.daemon.host.subscribe(key, { after: null, epoch: null }));
    const failed = await adopt("mine");
    expect([failed.status, failed.body.code], failed.text).toEqual([503, "session_limit_exceeded"]);
    expect(keptText()).toContain("about mine");
    const list = `/workspace/${encodeURIComponent(world.stage.folder)}/sessions`;
    const { sessions } = (await world.call("GET", list)).body;
    expect([sessions].flat().map((one) => Object(one).sessionId)).toEqual([key.sessionId]);
    stream.cancel();
    expect((await world.call("DELETE", `/session/${key.sessionId}`)).status).toBe(204);
    expect((await adopt("mine")).status).toBe(200);
  });

  it("cannot be adopted from another workspace, by a wrong id, or unlisted", async () => {
    const { world, adopt } = await worldWith(["resume"], "mine");
    for (const id of ["elsewhere", "none"]) {
      const { status, body } = await adopt(id);
      expect([status, body.code]).toEqual([404, "agent_session_not_found"]);
    }
    expect((await adopt("")).status).toBe(400);
    expect((await world.call("GET", "/agents/none/sessions")).body.code).toBe("agent_unknown");
    expect((await world.call("GET", `${LIST}?cwd=/elsewhere`)).status).toBe(400);
    const without = await DaemonWorld.open({ routes, stage: keeping() });
    expect((await without.call("GET", LIST)).body.code).toBe("agent_unsupported");
  });
});

describe("P8: an agent's own sessions", () => {
  it("are not for users who share its home, nor for those who make no sessions", async () => {
    const people = await People.open({ stage: keeping("list", "resume") });
    for (const role of ["owner", "admin", "member", "viewer"] as const) {
      const person = await people.person(role, role);
      const body = { agentSessionId: "any" };
      const answers = [await person.call("GET", LIST), await person.call("POST", ADOPT, { body })];
      const codes = answers.map((answer) => [answer.status, answer.body.code]);
      expect(codes).toEqual(Array(2).fill([403, "role_required"]));
    }
  });

  it("are for the user whose home they are in, and for no other", async () => {
    const files = new SecretFolder({});
    const homes = new AgentHomes(new SecretFolder().root);
    const credentials = new Credentials({ files: files.files, homes, env: {} });
    const people = await People.open({ stage: { ...keeping("list", "resume"), credentials } });
    const [ada, bob] = [await people.person("ada", "member"), await people.person("bob", "member")];
    expect((await ada.call("GET", LIST)).body.sessions).toEqual([]);
    const viewer = { tenantId: ACME, userId: user("ada") };
    const [profile] = [...keeping().profiles.values()];
    const home = profile && (await credentials.of(profile, viewer));
    const path = home?.ok ? (home.value.home?.path ?? "") : "";
    mkdirSync(path, { recursive: true });
    const kept = [{ sessionId: "hers", cwd: people.world.stage.folder, title: "t" }];
    writeFileSync(join(path, "kept-sessions.json"), JSON.stringify(kept));
    expect((await ada.call("GET", LIST)).body.sessions).toMatchObject([{ agentSessionId: "hers" }]);
    expect((await bob.call("GET", LIST)).body.sessions).toEqual([]);
    const body = { agentSessionId: "hers" };
    const [stolen, unknown] = [
      await bob.call("POST", ADOPT, { body }),
      await bob.call("POST", ADOPT, { body: { agentSessionId: "none" } }),
    ];
    const asUnknown = unknown.text.replace("none", "hers");
    expect([stolen.status, stolen.text]).toEqual([404, asUnknown]);
    expect((await ada.call("POST", ADOPT, { body })).status).toBe(200);
    const taken = await ada.call("POST", ADOPT, { body });
    expect([taken.status, taken.body.code]).toEqual([409, "agent_session_taken"]);
    expect((await bob.call("POST", ADOPT, { body })).text).toBe(asUnknown);
  });
});
