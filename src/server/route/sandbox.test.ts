import { describe, expect, it } from "vitest";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

describe("POST /session/:id/sandbox", () => {
  it("is kept and shown with its times, and renewed by tools", async () => {
    const session = await Approvals.open();
    const sessionId = session.path.slice("/session/".length);
    const set = async (state: string) => (await session.call("POST", "/sandbox", { state })).body;
    expect(await set("provisioning")).toEqual({
      sessionId,
      state: "provisioning",
      previous: "none",
    });
    expect(await set("ready")).toMatchObject({ state: "ready", previous: "provisioning" });
    const told = await heard(session.stream, "sandbox_changed");
    expect(told.data).toMatchObject({
      originatorClientId: "ada-1",
      originatorUserId: "ada",
      data: { state: "provisioning", from: "none" },
    });
    const before = Object((await session.view()).sandbox);
    expect(before.lastActivityAt).toBe(before.provisionedAt);
    await session.turn("sleep 5", "tool t1 kind=execute");
    const after = Object((await session.view()).sandbox);
    expect(after.provisionedAt).toBe(before.provisionedAt);
    expect(Date.parse(after.lastActivityAt)).toBeGreaterThan(Date.parse(before.lastActivityAt));
    await set("timed_out");
    expect((await session.view()).sandbox).toEqual({ ...after, state: "timed_out" });
    await set("none");
    expect((await session.view()).sandbox).toEqual({
      state: "none",
      provisionedAt: null,
      lastActivityAt: null,
    });
  });

  it.each([{}, { state: "broken" }, { state: 1 }])("refuses %j", async (body) => {
    const session = await Approvals.open();
    const answer = await session.call("POST", "/sandbox", body);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
  });
});
