import { describe, expect, it } from "vitest";
import { STRANGER } from "../daemon.fixture.ts";
import { RouteTable } from "../http/route.ts";
import { routesBeside, SessionBeside, WITH_SHELL } from "./beside.fixture.ts";
import { featuresOf } from "./server-info.ts";

const ROUTES: readonly (readonly [string, string, object?])[] = [
  ["POST", "/recap"],
  ["POST", "/btw", { question: "why?" }],
  ["POST", "/shell", { command: "true" }],
  ["GET", "/context"],
  ["GET", "/context-usage"],
  ["GET", "/stats"],
  ["GET", "/tasks"],
  ["GET", "/children"],
  ["POST", "/tasks/a-task/cancel"],
  ["GET", "/supported-commands"],
  ["GET", "/transcript"],
  ["GET", "/export"],
  ["POST", "/branch"],
  ["GET", "/audit"],
];

describe("what is read of a session, and done beside it", () => {
  it("P8: answers about another tenant's as about none, and about a bad id", async () => {
    const { world, sessionId } = await SessionBeside.open(WITH_SHELL);
    for (const [method, path, body] of ROUTES) {
      const as = STRANGER;
      const call = { body, as, clientId: "ada" };
      const foreign = await world.call(method, `/session/${sessionId}${path}`, call);
      const unknown = await world.call(method, `/session/unknown${path}`, call);
      const odd = await world.call(method, `/session/${encodeURIComponent("no id")}${path}`, call);
      const texts = [foreign.text.replaceAll(sessionId, "unknown"), unknown.text];
      expect([path, ...new Set(texts)]).toEqual([path, unknown.text]);
      expect([path, foreign.status, unknown.status, odd.status]).toEqual([path, 404, 404, 404]);
      expect(unknown.body).toEqual({
        error: 'No session with id "unknown"',
        code: "session_not_found",
        sessionId: "unknown",
      });
      expect(odd.text).toBe(unknown.text.replaceAll("unknown", "no id"));
    }
  });

  it("is not there for a session that was closed, except for its audit", async () => {
    const { world, sessionId, key } = await SessionBeside.open(WITH_SHELL);
    const actor = { kind: "server" } as const;
    await world.daemon.host.close(key, actor);
    for (const [method, path, body] of ROUTES) {
      const call = { body, clientId: "ada" };
      const { status } = await world.call(method, `/session/${sessionId}${path}`, call);
      expect([path, status]).toEqual([path, path === "/audit" ? 200 : 404]);
    }
  });

  it("has a feature tag where the wire has one, and the shell's only if it is on", async () => {
    const { world } = await SessionBeside.open();
    const table = new RouteTable(routesBeside(world.daemon));
    const tags = (enableShell: boolean) =>
      featuresOf(table, { ...world.daemon.settings, enableShell });
    expect(tags(false)).toEqual([
      "session_context",
      "session_context_usage",
      "session_supported_commands",
      "session_stats",
      "session_tasks",
      "session_recap",
      "session_btw",
      "session_export",
      "session_transcript",
      "session_branch",
    ]);
    expect(tags(true)).toContain("session_shell_command");
  });
});
