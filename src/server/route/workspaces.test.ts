import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WORKSPACES_MAX } from "../../core/limits.ts";
import { LOCAL, STRANGER } from "../daemon.fixture.ts";
import { made, openLife } from "./life.fixture.ts";

describe("the workspaces of a tenant", () => {
  it("are the server's own, and those that were added, once each, also later", async () => {
    const world = await openLife();
    const { folder } = world.stage;
    const other = join(folder, "other");
    mkdirSync(other);
    symlinkSync(other, join(folder, "link"));
    const added = await world.call("POST", "/workspaces", { body: { cwd: join(folder, "link") } });
    const entry = { id: expect.any(String), cwd: other, primary: false, trusted: true };
    expect([added.status, added.body]).toEqual([200, { ...entry, persisted: true }]);
    const again = await world.call("POST", "/workspaces", { body: { cwd: other } });
    expect(again.body).toEqual(added.body);
    await world.call("POST", "/workspaces", { body: { cwd: folder } });
    await world.end();
    const next = await openLife({ stage: { folder } });
    const { body } = await next.call("GET", "/workspaces");
    expect(body).toEqual({
      workspaces: [{ id: expect.any(String), cwd: folder, primary: true, trusted: true }, entry],
    });
    const { sessionId } = await made(next, { cwd: other });
    expect(sessionId).toBeTruthy();
  });

  it("P8: are not another tenant's", async () => {
    const world = await openLife();
    const other = join(world.stage.folder, "other");
    mkdirSync(other);
    await world.call("POST", "/workspaces", { body: { cwd: other } });
    const { body } = await world.call("GET", "/workspaces", { as: STRANGER });
    expect(body.workspaces).toMatchObject([{ cwd: world.stage.folder }]);
    const answer = await world.call("POST", "/session", { body: { cwd: other }, as: STRANGER });
    expect([answer.status, answer.body.code]).toEqual([400, "workspace_mismatch"]);
  });

  it("are added by owners and admins only", async () => {
    const world = await openLife();
    const add = (role: "admin" | "member" | "viewer") =>
      world.call("POST", "/workspaces", {
        body: { cwd: world.stage.folder },
        as: { ...LOCAL, role },
      });
    expect((await add("admin")).status).toBe(200);
    for (const role of ["member", "viewer"] as const) {
      const { status, body } = await add(role);
      expect([status, body.code]).toEqual([403, "role_required"]);
    }
  });

  it.each([
    [{}, "invalid_request"],
    [{ cwd: 7 }, "invalid_request"],
    [{ cwd: "relative" }, "invalid_request"],
    [{ cwd: `/${"x".repeat(4_096)}` }, "invalid_request"],
    [{ cwd: "/nobody/made/this" }, "invalid_workspace"],
    [{ cwd: "/dev/null" }, "invalid_workspace"],
  ])("are directories, and not %j", async (body, code) => {
    const world = await openLife();
    const answer = await world.call("POST", "/workspaces", { body });
    expect([answer.status, answer.body.code]).toEqual([400, code]);
  });

  it("P10: are so many at most", async () => {
    const world = await openLife();
    const { folder } = world.stage;
    const add = (n: number) => {
      const cwd = join(folder, `w${n}`);
      mkdirSync(cwd);
      return world.call("POST", "/workspaces", { body: { cwd } });
    };
    for (let n = 1; n < WORKSPACES_MAX; n += 1) expect((await add(n)).status).toBe(200);
    const { status, body } = await add(WORKSPACES_MAX);
    expect([status, body.code]).toEqual([429, "workspace_limit_exceeded"]);
  });
});
