import { describe, expect, it } from "vitest";
import { ROLES } from "../../core/permission.ts";
import { DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import { IDLE } from "../http/server.fixture.ts";
import { allRoutes } from "./all-routes.ts";

/** Written by hand: who gets past the door of which route, and who is told that they may not. */
const EVERYBODY = ["owner", "admin", "member", "viewer"];
const WORKERS = ["owner", "admin", "member"];
const LEADERS = ["owner", "admin"];
const OWNERS = ["owner"];

const DOORS: Readonly<Record<string, readonly string[]>> = {
  "GET /health": EVERYBODY,
  "GET /capabilities": EVERYBODY,
  "GET /status-table": EVERYBODY,
  "GET /openapi.json": EVERYBODY,
  "GET /docs": EVERYBODY,
  "GET /events": EVERYBODY,
  "DELETE /tenant": OWNERS,
  "GET /workspaces": EVERYBODY,
  "POST /workspaces": LEADERS,
  "GET /agents": EVERYBODY,
  "GET /agents/trace": OWNERS,
  "GET /agents/:name/logs": OWNERS,
  "GET /agents/:name/sessions": WORKERS,
  "POST /agents/:name/sessions/adopt": WORKERS,
  "POST /agents/:name/restart": OWNERS,
  "POST /agents/:name/logout": OWNERS,
  "GET /credits": LEADERS,
  "GET /credits/statement": LEADERS,
  "GET /credits/usage": LEADERS,
  "GET /credits/me": EVERYBODY,
  "POST /credits/grants": OWNERS,
  "POST /credits/grants/:id/revocation": OWNERS,
  "POST /credits/limit": OWNERS,
  "POST /credits/budgets/:scope": OWNERS,
  "GET /audit": LEADERS,
  "GET /members": LEADERS,
  "POST /members/:user": LEADERS,
  "DELETE /members/:user": OWNERS,
  "GET /invitations": LEADERS,
  "POST /invitations": LEADERS,
  "DELETE /invitations/:id": LEADERS,
  "POST /invitations/redemption": EVERYBODY,
  "GET /tenant": EVERYBODY,
  "PATCH /tenant": OWNERS,
  "GET /tenant/policy": EVERYBODY,
  "PUT /tenant/policy": OWNERS,
  "GET /tokens": LEADERS,
  "POST /tokens": OWNERS,
  "DELETE /tokens/:id": OWNERS,
  "POST /tokens/:id/rotate": OWNERS,
  "GET /search": EVERYBODY,
  "GET /sessions": EVERYBODY,
  "GET /asks": EVERYBODY,
  "GET /workspace/:id/sessions": EVERYBODY,
  "GET /workspaces/:workspace/sessions": EVERYBODY,
  "GET /workspace/:id/session-info": EVERYBODY,
  "POST /sessions/delete": LEADERS,
  "POST /workspaces/:workspace/sessions/delete": LEADERS,
  "POST /session": WORKERS,
  "POST /session/:id/load": WORKERS,
  "POST /session/:id/resume": WORKERS,
  "DELETE /session/:id": WORKERS,
  "POST /session/:id/detach": EVERYBODY,
  "POST /session/:id/heartbeat": EVERYBODY,
  "PATCH /session/:id/metadata": WORKERS,
  "POST /session/:id/branch": WORKERS,
  "POST /session/:id/prompt": WORKERS,
  "POST /session/:id/cancel": WORKERS,
  "POST /session/:id/model": WORKERS,
  "POST /session/:id/agent": WORKERS,
  "POST /session/:id/skills/reload": WORKERS,
  "POST /session/:id/extensions/reload": WORKERS,
  "POST /session/:id/persona/reload": WORKERS,
  "GET /session/:id/visibility": EVERYBODY,
  "POST /session/:id/visibility": WORKERS,
  "POST /session/:id/approval-mode": WORKERS,
  "POST /session/:id/autonomy": WORKERS,
  "POST /session/:id/agent-mode": WORKERS,
  "POST /session/:id/config-option": WORKERS,
  "DELETE /session/:id/grants": WORKERS,
  "DELETE /session/:id/grants/:key": WORKERS,
  "POST /session/:id/sandbox": WORKERS,
  "POST /session/:id/permission/:requestId": WORKERS,
  "POST /permission/:requestId": WORKERS,
  "GET /session/:id/pending-prompts": EVERYBODY,
  "DELETE /session/:id/pending-prompts/:promptId": WORKERS,
  "POST /session/:id/mid-turn-message": WORKERS,
  "GET /session/:id/mid-turn-messages": EVERYBODY,
  "DELETE /session/:id/mid-turn-messages/:messageId": WORKERS,
  "POST /session/:id/recap": WORKERS,
  "POST /session/:id/btw": WORKERS,
  "POST /session/:id/shell": WORKERS,
  "GET /session/:id/children": EVERYBODY,
  "GET /session/:id/children/:childId/events": EVERYBODY,
  "GET /session/:id/tasks": EVERYBODY,
  "POST /session/:id/tasks/:taskId/cancel": WORKERS,
  "GET /session/:id/events": EVERYBODY,
  "GET /session/:id": EVERYBODY,
  "GET /session/:id/status": EVERYBODY,
  "GET /session/:id/fields": EVERYBODY,
  "GET /session/:id/approvals": EVERYBODY,
  "GET /session/:id/context": EVERYBODY,
  "GET /session/:id/context-usage": EVERYBODY,
  "GET /session/:id/stats": EVERYBODY,
  "GET /session/:id/supported-commands": EVERYBODY,
  "GET /session/:id/turns/current": EVERYBODY,
  "GET /session/:id/turns/:promptId": EVERYBODY,
  "GET /session/:id/transcript": EVERYBODY,
  "GET /session/:id/export": EVERYBODY,
  "GET /session/:id/audit": WORKERS,
};

const STREAMS: ReadonlySet<string> = new Set(["GET /events", "GET /agents/trace"]);

const hasBody = (method: string) => method !== "GET" && method !== "DELETE";

async function openAll(): Promise<DaemonWorld> {
  return DaemonWorld.open({ routes: (daemon) => allRoutes(daemon, "0", async () => IDLE).routes });
}

describe("what routes need of a role", () => {
  it("is said of every route here, and of no other", async () => {
    const world = await openAll();
    const { routes } = allRoutes(world.daemon, "0", async () => IDLE);
    const names = routes.map(({ method, path }) => `${method} ${path}`);
    expect(names.toSorted()).toEqual(Object.keys(DOORS).toSorted());
  });

  it("is asked of whoever comes, before anything else is looked at", async () => {
    const world = await openAll();
    // An admitted stream stays open, so only callers that are refused are tried.
    const doors = Object.entries(DOORS).filter(([name]) => !STREAMS.has(name));
    for (const [name, allowed] of doors) {
      const [method = "", path = ""] = name.split(" ");
      for (const role of ROLES) {
        const call = { as: { ...LOCAL, role }, ...(hasBody(method) ? { body: {} } : {}) };
        const { status, body } = await world.call(method, path.replaceAll(":", "x"), call);
        const isRefused = status === 403 && body.code === "role_required";
        expect({ name, role, isRefused }).toEqual({
          name,
          role,
          isRefused: !allowed.includes(role),
        });
      }
    }
  });

  it("is the same whether a session is there or not (P8)", async () => {
    const world = await openAll();
    const made = await world.call("POST", "/session", { body: {} });
    const viewer = { as: { ...LOCAL, role: "viewer" }, body: {} } as const;
    const there = await world.call("POST", `/session/${made.body.sessionId}/prompt`, viewer);
    const not = await world.call("POST", "/session/none/prompt", viewer);
    expect(there.text).toBe(not.text);
    expect(there.body).toEqual({
      error: "This is for owners, admins and members only.",
      code: "role_required",
      roles: "owners, admins and members",
    });
  });
});
