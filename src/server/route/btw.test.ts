import { setImmediate as aMoment } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { BTW_QUESTION_CHARS_MAX } from "../../core/limits.ts";
import { SessionBeside } from "./beside.fixture.ts";

describe("POST /session/:id/btw", () => {
  it("is answered from the conversation, and stays out of it", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("My name is Ada.");
    const { lastEventId } = await beside.live();
    const { status, body } = await beside.post("/btw", { question: "recall" });
    expect(status).toBe(200);
    expect(body).toEqual({
      sessionId: beside.sessionId,
      answer: expect.stringContaining("My name is Ada."),
    });
    expect((await beside.live()).lastEventId).toBe(lastEventId);
  });

  it("is refused without a question, with a blank one and with one that is too long", async () => {
    const beside = await SessionBeside.open();
    const tooLong = "x".repeat(BTW_QUESTION_CHARS_MAX + 1);
    for (const body of [{}, ...[7, " \n ", tooLong].map((question) => ({ question }))]) {
      const refused = await beside.post("/btw", body);
      expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
    }
  });

  it("P10: ends with the client that leaves, and the next one is answered", async () => {
    const beside = await SessionBeside.open();
    const connect = vi.spyOn(beside.world.daemon.world.agents, "connect");
    const leaving = new AbortController();
    const { signal } = leaving;
    const asked = beside.post("/btw", { question: "hang" }, { signal }).catch(() => "left");
    while (connect.mock.calls.length === 0) await aMoment();
    leaving.abort();
    expect(await asked).toBe("left");
    let answer = await beside.post("/btw", { question: "say here" });
    while (answer.status === 503) answer = await beside.post("/btw", { question: "say here" });
    expect(answer.body.answer).toBe("here");
  });
});
