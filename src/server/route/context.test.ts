import { describe, expect, it } from "vitest";
import { SessionBeside } from "./beside.fixture.ts";

describe("GET /session/:id/context", () => {
  it("is what the agent offers, and its models where clients look for them", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.get("/context");
    expect(status).toBe(200);
    expect(body).toEqual({
      v: 1,
      sessionId: beside.sessionId,
      workspaceCwd: beside.world.stage.folder,
      state: {
        models: {
          currentModelId: "echo-small",
          availableModels: expect.arrayContaining([
            expect.objectContaining({ modelId: "echo-large", name: expect.any(String) }),
          ]),
        },
        modes: expect.objectContaining({ currentModeId: expect.any(String) }),
        configOptions: expect.arrayContaining([
          expect.objectContaining({ category: "model", currentValue: "echo-small" }),
          expect.objectContaining({ id: "loud", type: "boolean", currentValue: false }),
        ]),
      },
    });
  });

  it("is what the agent has changed since", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("mode plan", "config model echo-large");
    const { state } = (await beside.get("/context")).body;
    expect(state).toMatchObject({
      models: { currentModelId: "echo-large" },
      modes: { currentModeId: "plan" },
    });
  });

  it("P6: is what the agent offered last when there is none", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("say nothing of it");
    const { state: offered } = (await beside.get("/context")).body;
    await beside.rest();
    expect((await beside.get("/context")).body.state).toEqual(offered);
    await beside.turn("mode plan", "config model echo-large");
    await beside.turn("say something else");
    await beside.rest();
    const { state } = (await beside.get("/context")).body;
    expect(state).toMatchObject({
      models: { currentModelId: "echo-large" },
      modes: { currentModeId: "plan" },
    });
  });
});
