import { afterEach, describe, expect, it } from "vitest";
import { RouteTable } from "../route-table.ts";
import { bodyOf, closeServers, IDLE, serve } from "../server.fixture.ts";
import { type ActivityReport, healthRoute } from "./health.ts";

afterEach(closeServers);

function serveHealth(report: ActivityReport) {
  return serve([], {}, { table: new RouteTable([healthRoute(report)]) });
}

describe("GET /health", () => {
  it("says that the server is there, and asks nobody", async () => {
    const world = await serveHealth(() => Promise.reject(new Error("not asked")));
    const { status, text } = await world.ask("/health");
    expect({ status, text }).toEqual({ status: 200, text: '{"status":"ok"}' });
    expect(await world.ask("/health?deep=0")).toMatchObject({ text: '{"status":"ok"}' });
  });

  it.each(["?deep", "?deep=1", "?deep=true"])("tells with %s what it is doing", async (query) => {
    const world = await serveHealth(async () => ({ ...IDLE, sessions: 3, activeWork: true }));
    expect(bodyOf(await world.ask(`/health${query}`))).toEqual({
      status: "ok",
      ...IDLE,
      sessions: 3,
      activeWork: true,
    });
  });

  it("says what is wrong, if something is", async () => {
    const world = await serveHealth(async () => ({ degraded: "bootstrap" }));
    const answer = await world.ask("/health?deep");
    expect(answer.status).toBe(503);
    expect(bodyOf(answer)).toEqual({ status: "degraded", reason: "bootstrap" });
  });

  it("says so if it cannot find out", async () => {
    const world = await serveHealth(() => Promise.reject(new Error("no figures")));
    const answer = await world.ask("/health?deep=1");
    expect(answer.status).toBe(503);
    expect(bodyOf(answer)).toEqual({ status: "degraded", reason: "aggregation_failed" });
  });
});
