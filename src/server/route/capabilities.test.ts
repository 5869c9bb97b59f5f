import { afterEach, describe, expect, it } from "vitest";
import { type Route, RouteTable } from "../http/route.ts";
import { bodyOf, closeServers, granted, mirror, serve } from "../http/server.fixture.ts";
import { readServerSettings, type ServerOptions } from "../settings.ts";
import { capabilitiesRoute, type WorkspaceEntry } from "./server-info.ts";

afterEach(closeServers);

const ONE: WorkspaceEntry = { id: "w1", cwd: "/w", primary: true, trusted: true };
const TWO: WorkspaceEntry = { id: "w2", cwd: "/v", primary: false, trusted: true };

async function capabilities(
  routes: readonly Route[] = [],
  options: Partial<ServerOptions> = {},
  workspaces: readonly WorkspaceEntry[] = [ONE],
) {
  const settings = granted(readServerSettings({ workspaces: ["/w"], ...options }));
  const all: Route[] = [...routes];
  const table = () => new RouteTable(all);
  const source = { settings, version: "1.2.3", table, workspaces: async () => workspaces };
  all.push(capabilitiesRoute(source));
  const world = await serve([], { ...options, port: 0 }, { table: table() });
  const token = options.token ?? "none";
  const headers = { authorization: `Bearer ${token}` };
  return bodyOf(await world.ask("/capabilities", { headers }));
}

describe("GET /capabilities", () => {
  it("has every field that clients look for", async () => {
    expect(await capabilities()).toEqual({
      v: 1,
      protocolVersions: { current: "v1", supported: ["v1"] },
      qwenCodeVersion: "1.2.3",
      fermataVersion: "1.2.3",
      mode: "native",
      features: ["capabilities"],
      modelServices: [],
      workspaceCwd: "/w",
      transports: ["rest"],
      policy: { permission: "first-responder" },
      limits: { maxPendingPromptsPerSession: 5, sessionRestoreTimeoutMs: 60_000 },
      workspaces: [ONE],
      supportedLanguages: [],
    });
  });

  it("speaks of workspaces' limits where there are several, and of none as null", async () => {
    const options = { maxPendingPrompts: 0, maxSessions: 0 };
    expect(await capabilities([], options, [TWO, ONE])).toMatchObject({
      workspaceCwd: "/w",
      limits: {
        maxPendingPromptsPerSession: null,
        maxSessionsPerWorkspace: null,
        maxTotalSessions: null,
      },
    });
  });

  it("promises what there is a route for, whatever its parameters are called", async () => {
    const routes = [
      mirror({ path: "/session" }),
      mirror({ path: "/session/:sessionId/resume" }),
      mirror({ method: "GET", path: "/session/:id/prompt" }),
    ];
    expect(await capabilities(routes)).toMatchObject({
      features: ["capabilities", "session_create", "session_resume", "unstable_session_resume"],
    });
  });

  it("promises what a route says that it honours, and nothing that only might be", async () => {
    const create = mirror({ path: "/session", honours: ["session_id_override"] });
    expect(await capabilities([create])).toMatchObject({
      features: ["capabilities", "session_create", "session_id_override"],
    });
  });

  it("promises options that are on", async () => {
    const options = {
      token: "t",
      requireAuth: true,
      allowOrigins: ["https://a.example"],
      rateLimit: {},
      promptDeadlineMs: 1,
      writerIdleTimeoutMs: 1,
    };
    const body = await capabilities([], options);
    expect(body).toMatchObject({
      features: [
        "capabilities",
        "prompt_absolute_deadline",
        "writer_idle_timeout",
        "require_auth",
        "allow_origin",
        "rate_limit",
      ],
    });
    expect(JSON.stringify(body)).not.toContain("a.example");
  });

  it("promises a shell only where there is one and it is enabled", async () => {
    const shell = mirror({ path: "/session/:id/shell" });
    expect(await capabilities([shell])).toMatchObject({ features: ["capabilities"] });
    const enabled = { token: "t", enableShell: true };
    expect(await capabilities([shell], enabled)).toMatchObject({
      features: ["capabilities", "session_shell_command"],
    });
    expect(await capabilities([], enabled)).toMatchObject({ features: ["capabilities"] });
  });
});
