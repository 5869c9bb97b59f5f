import { describe, expect, it } from "vitest";
import { DaemonWorld } from "../daemon.fixture.ts";
import { CorsGate, OwnNames } from "../http/origins.ts";
import { allRoutes } from "./all-routes.ts";
import { featuresOf } from "./server-info.ts";

async function everything() {
  const world = await DaemonWorld.open({ routes: () => [] });
  const table = allRoutes(world.daemon, "0", async () => ({ degraded: "bootstrap" }));
  return { world, table };
}

/** These take no body, or what agents and people say, or names of what is there already. */
const SET_NOTHING = [
  ...["POST /agents/:name/restart", "POST /agents/:name/logout", "POST /invitations/redemption"],
  ...["POST /sessions/delete", "POST /workspaces/:workspace/sessions/delete"],
  ...["POST /session/:id/detach", "POST /session/:id/heartbeat", "POST /session/:id/prompt"],
  ...["POST /session/:id/cancel", "POST /session/:id/permission/:requestId"],
  ...["POST /permission/:requestId", "POST /session/:id/mid-turn-message"],
  ...["POST /session/:id/recap", "POST /session/:id/btw", "POST /session/:id/shell"],
  "POST /session/:id/tasks/:taskId/cancel",
];

/** The capability tags that the protocol's specification lists. */
const SEED_TAGS = [
  ...["session_create", "session_scope_override", "session_load", "session_resume"],
  ...["unstable_session_resume", "session_list", "session_close", "session_metadata"],
  ...["session_set_model", "client_identity", "client_heartbeat", "session_recap"],
  ...["session_btw", "session_context_usage", "session_tasks", "session_stats"],
  "non_blocking_prompt",
];

describe("all routes of a server", () => {
  it("keep every promise of the specified tags, and say so", async () => {
    const { world, table } = await everything();
    expect(featuresOf(table, world.daemon.settings)).toEqual(expect.arrayContaining(SEED_TAGS));
  });

  it("promise nothing that is not there: each tag goes with what makes it true", async () => {
    const { world, table } = await everything();
    const all = featuresOf(table, world.daemon.settings);
    for (const gone of table.routes) {
      const others = table.routes.filter((route) => route !== gone);
      const rest = {
        routes: others,
        has: (method: string, path: string) =>
          others.some((route) => route.method === method && route.path === path),
      };
      const left = featuresOf(rest, world.daemon.settings);
      expect(left.filter((tag) => !all.includes(tag))).toEqual([]);
    }
    const none = { routes: [], has: () => false };
    expect(featuresOf(none, world.daemon.settings)).toEqual([]);
  });

  it("ask for a token, except health, and the redemption of an invitation", async () => {
    const { table } = await everything();
    const open = table.routes.filter(({ gate }) => gate === "open").map(({ path }) => path);
    expect(open).toEqual(["/health", "/invitations/redemption"]);
  });

  it("can be called by web pages of allowed origins, whatever their method", async () => {
    const { table } = await everything();
    const origin = "https://console.example";
    const asked = {
      method: "OPTIONS",
      origin,
      host: "127.0.0.1",
      isPreflight: true,
      isCrossSite: true,
    };
    const at = { hostname: "127.0.0.1", port: 80, needsToken: false, allowHosts: [] };
    const own = new OwnNames(at);
    const { headers } = new CorsGate([origin]).judge(asked, own);
    const allowed = headers["Access-Control-Allow-Methods"]?.split(", ") ?? [];
    expect(allowed).toContain("POST");
    expect(table.routes.filter(({ method }) => !allowed.includes(method))).toEqual([]);
  });

  it("know the fields of every body that creates or sets something", async () => {
    const { table } = await everything();
    const changing = table.routes.filter(({ method }) => !["GET", "DELETE"].includes(method));
    const without = changing.filter((route) => route.gate === "open" || !route.fields);
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual(SET_NOTHING);
  });

  it("P8: look up every session under the tenant of the caller", async () => {
    const { table } = await everything();
    const own = table.routes.filter(({ path }) => path.startsWith("/session/:id"));
    expect(own.length).toBeGreaterThan(30);
    expect(own.every(({ gate }) => gate !== "open")).toBe(true);
  });
});
