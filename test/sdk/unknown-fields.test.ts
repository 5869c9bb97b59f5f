import { DaemonClient } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const TOKEN = "a-token-of-the-operator";
const server = sharedServer({ flags: ["--token", TOKEN] });

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : expect.fail("no object");
}

async function send(method: string, path: string, body: object): Promise<Answered> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };
  const text = JSON.stringify(body);
  const answer = await fetch(`${server().url}${path}`, { method, headers, body: text });
  return { status: answer.status, body: objectIn(await answer.json()) };
}

/** A session of its own, and what its answer says of the fields of its request. */
function create(fields: object): Promise<Answered> {
  return send("POST", "/session", { sessionScope: "thread", ...fields });
}

async function pathOfNew(): Promise<string> {
  return `/session/${(await create({})).body.sessionId}`;
}

describe("a field that looks like a mistyped one of ours", () => {
  it.each<[string, object, string, string]>([
    ["a letter is missing", { budgt: 5 }, "budgt", "budget"],
    ["two letters are swapped", { agnet: "echo" }, "agnet", "agent"],
    ["another way to write it", { modelConfig: {} }, "modelConfig", "model_config"],
    [
      "inside an object",
      { model_config: { temprature: 1 } },
      "model_config.temprature",
      "temperature",
    ],
  ])("is refused by a create, and makes nothing: %s", async (_what, fields, path, meant) => {
    const sessionId = crypto.randomUUID();
    const { status, body } = await create({ sessionId, ...fields });
    expect(status).toBe(400);
    expect(body).toEqual({
      error: `The body is not valid at ${path}: there is no such field; did you mean "${meant}"?`,
      code: "invalid_request",
      path,
      reason: expect.any(String),
      didYouMean: meant,
    });
    expect(await send("POST", `/session/${sessionId}/load`, {})).toMatchObject({ status: 404 });
  });

  it.each<[string, string, object, string]>([
    ["POST", "/load", { aprovalMode: "plan" }, "approvalMode"],
    ["POST", "/resume", { aprovalMode: "plan" }, "approvalMode"],
    ["POST", "/branch", { nmae: "x" }, "name"],
    ["PATCH", "/metadata", { displayname: "x" }, "displayName"],
    ["POST", "/model", { modelid: "x" }, "modelId"],
    ["POST", "/agent", { agnet: "echo" }, "agent"],
    ["POST", "/agent-mode", { moed: "x" }, "mode"],
    ["POST", "/approval-mode", { mode: "plan", persits: true }, "persist"],
    ["POST", "/autonomy", { profil: "manual" }, "profile"],
    ["POST", "/visibility", { visibility: "private", shared_wiht: [] }, "sharedWith"],
    ["POST", "/sandbox", { stat: "ready" }, "state"],
  ])("is refused by a setting of a session: %s %s %j", async (method, route, fields, meant) => {
    const answer = await send(method, `${await pathOfNew()}${route}`, fields);
    expect(answer).toMatchObject({ status: 400, body: { didYouMean: meant } });
  });

  it.each<[string, string, object, string]>([
    ["PATCH", "/tenant", { setings: {} }, "settings"],
    ["PATCH", "/tenant", { settings: { autonmy: "manual" } }, "autonomy"],
    ["PUT", "/tenant/policy", { version: 0, policy: { roles: { membr: {} } } }, "member"],
    ["POST", "/credits/grants", { amountMicros: 5 }, "amountMicro"],
    ["POST", "/credits/limit", { limt: "granted" }, "limit"],
    ["POST", "/credits/budgets/tenant", { budgetMicro: 5, perod: "month" }, "period"],
    ["POST", "/members/ada", { rol: "member" }, "role"],
    ["POST", "/tokens", { user: "ada", role: "member", expiresInMS: 5 }, "expiresInMs"],
    ["POST", "/invitations", { user: "ada", role: "member", expireInMs: 5 }, "expiresInMs"],
    ["POST", "/workspaces", { cwd: "/", trustd: true }, "trusted"],
    ["POST", "/agents/echo/sessions/adopt", { agentSesionId: "x" }, "agentSessionId"],
    ["POST", "/agents/echo/sessions/adopt", { agentSessionId: "x", budgt: 5 }, "budget"],
  ])("is refused by a setting of a tenant: %s %s %j", async (method, path, fields, meant) => {
    const answer = await send(method, path, fields);
    expect(answer).toMatchObject({ status: 400, body: { didYouMean: meant } });
  });
});

describe("any other unknown field", () => {
  it("is accepted, also if half of a short name is right, and is named as ignored", async () => {
    const long = "x".repeat(1_000);
    const { status, body } = await create({ colour: "red", role: "x", [long]: 1 });
    expect(status).toBe(200);
    expect(body.ignored).toEqual(["colour", "role", "x".repeat(64)]);
    expect((await create({})).body).not.toHaveProperty("ignored");
  });

  it("P10: may come only so many times", async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`colour-${at}`, at]));
    expect((await create(fields(64))).body.ignored).toHaveLength(64);
    const { status, body } = await create(fields(65));
    expect({ status, error: body.error }).toEqual({
      status: 400,
      error: "The body has more than 64 fields that are not known here",
    });
  });
});

/** A client of the SDK that notes the fields it sends, and what it is told that were ignored. */
function recordingClient() {
  const ignored = new Set<string>();
  const client = new DaemonClient({
    baseUrl: server().url,
    token: TOKEN,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      const { ignored: names } = objectIn(await answer.clone().json());
      for (const name of Array.isArray(names) ? names : []) ignored.add(name);
      return answer;
    },
  });
  return { client, ignored };
}

describe("the public SDK", () => {
  it("is never refused for a field of its own", async () => {
    const { client, ignored } = recordingClient();
    const { sessionId, clientId } = await client.createOrAttachSession({
      sessionScope: "thread",
      sourceType: "web-shell",
      sourceId: "tab",
      approvalMode: "plan",
      modelServiceId: "any",
      worktree: { slug: "x" },
      branch: { name: "x" },
    });
    const restored = {
      approvalMode: "default",
      sourceType: "web-shell",
      sourceId: "tab",
      historyPageSize: 10,
      liveReplayMode: "summary",
      compactedReplayMode: "summary",
    } as const;
    await client.loadSession(sessionId, restored, clientId);
    await client.resumeSession(sessionId, restored, clientId);
    await client.setSessionApprovalMode(sessionId, "auto-edit", { persist: true, planMode: true });
    const pr = { number: 1, url: "https://page.example/1", repository: "a/b" };
    await client.updateSessionMetadata(sessionId, { displayName: "x", pr: Object(pr) }, clientId);
    await client.addWorkspace(server().workspace, { persist: true, displayName: "x" });
    expect([...ignored].sort()).toEqual([
      ...["branch", "compactedReplayMode", "displayName", "persist", "planMode", "pr"],
      ...["sourceId", "sourceType", "worktree"],
    ]);
  });
});
