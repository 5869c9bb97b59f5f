import { describe, expect, it } from "vitest";
import { SessionBeside } from "./beside.fixture.ts";

describe("POST /session/:id/recap", () => {
  it("has nothing to say of a conversation that has not begun", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.post("/recap");
    expect(status).toBe(200);
    expect(body).toEqual({ sessionId: beside.sessionId, recap: null });
  });

  it("says where it stands, and changes nothing in it", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("My name is Ada.");
    const { lastEventId } = await beside.live();
    // The client need not be known, and what it sends along is not read.
    const { status, body } = await beside.post("/recap", { any: "thing" }, { clientId: "x" });
    expect(status).toBe(200);
    expect(body).toEqual({ sessionId: beside.sessionId, recap: expect.stringContaining("away") });
    expect((await beside.live()).lastEventId).toBe(lastEventId);
  });

  it("wants a client's name to be one", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.post("/recap", {}, { clientId: "no name" });
    expect([status, body.code]).toEqual([400, "invalid_client_id"]);
  });
});
