import { describe, expect, it } from "vitest";
import { SessionBeside } from "./beside.fixture.ts";

describe("GET /session/:id/stats", () => {
  it("counts prompts, tools and tokens, and goes on counting after a rest", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("tool title=edit", "usage 500 2000 input=7 output=3");
    const { status, body } = await beside.get("/stats");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      v: 1,
      sessionId: beside.sessionId,
      workspaceCwd: beside.world.stage.folder,
      promptCount: 1,
      tools: { totalCalls: 1, totalSuccess: 1, totalFail: 0 },
      files: { totalLinesAdded: 0, totalLinesRemoved: 0 },
    });
    expect(Object.values(Object(body.models))).toEqual([
      expect.objectContaining({ tokens: expect.objectContaining({ prompt: 7, candidates: 3 }) }),
    ]);
    await beside.rest();
    const later = (await beside.get("/stats")).body;
    expect(later).toMatchObject({ promptCount: 1, tools: body.tools, models: body.models });
  });
});
