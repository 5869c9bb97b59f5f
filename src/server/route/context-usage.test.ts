import { describe, expect, it } from "vitest";
import { SessionBeside } from "./beside.fixture.ts";

describe("GET /session/:id/context-usage", () => {
  it("says that the agent has not said anything", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.get("/context-usage");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      v: 1,
      sessionId: beside.sessionId,
      workspaceCwd: beside.world.stage.folder,
      usage: { totalTokens: 0, contextWindowSize: 0, isEstimated: true, showDetails: false },
      formattedText: "The agent has not said how full its context is.",
    });
  });

  it("says how full its context is, also when the agent has gone", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("usage 500 2000");
    await beside.rest();
    const { usage } = (await beside.get("/context-usage?detail=true")).body;
    expect(usage).toMatchObject({
      totalTokens: 500,
      contextWindowSize: 2_000,
      breakdown: { freeSpace: 1_500 },
      builtinTools: [],
      showDetails: true,
    });
    const plain = await beside.get("/context-usage?detail=1");
    expect(plain.body.usage).toMatchObject({ showDetails: false });
  });
});
