import { afterEach, describe, expect, it } from "vitest";
import { ATTEMPTS_FAILED_MAX } from "../../core/limits.ts";
import { byToken, sharedToken } from "../http/authenticator.ts";
import { RouteTable } from "../http/route.ts";
import { bodyOf, closeServers, IDLE, serve } from "../http/server.fixture.ts";
import { ACME, IdentityWorld } from "../identity/identity.fixture.ts";
import { type ActivityReport, healthRoute } from "./server-info.ts";

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

  it("P8: tells users of their tenant, the operator of all, and others nothing", async () => {
    const asked: unknown[] = [];
    const report: ActivityReport = async (caller) => {
      asked.push(caller?.tenantId ?? null);
      return { ...IDLE, sessions: asked.length };
    };
    const identity = await IdentityWorld.open();
    const { text } = await identity.token("ada", "viewer");
    const authenticator = byToken([sharedToken("operator"), identity.way]);
    const table = new RouteTable([healthRoute(report)]);
    const world = await serve([], { token: "operator" }, { table, authenticator });
    const deep = (token?: string, path = "/health?deep") => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return world.ask(path, { headers });
    };
    expect(await deep()).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(asked).toEqual([]);
    expect(bodyOf(await deep(text))).toMatchObject({ sessions: 1 });
    expect(bodyOf(await deep("operator"))).toMatchObject({ sessions: 2 });
    expect(asked).toEqual([ACME, null]);
    // No caller can test a token here uncounted; without `deep` it is not checked.
    expect(await deep("wrong")).toMatchObject({ status: 401 });
    expect(await deep("wrong", "/health")).toMatchObject({ status: 200 });
    for (let n = 0; n < ATTEMPTS_FAILED_MAX; n += 1) await deep(`guess-${n}`);
    expect(await deep("guess")).toMatchObject({ status: 429 });
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
