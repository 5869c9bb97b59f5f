import { describe, expect, it } from "vitest";
import { STRANGER } from "../daemon.fixture.ts";
import { heard, openWork, Work } from "./work.fixture.ts";

describe("POST /session/:id/cancel", () => {
  it("stops the prompt at work and its asks, and lets the next one go on", async () => {
    const work = await Work.made(await openWork(), "ada", "bob");
    const stream = await work.stream();
    const first = await work.admitted("ask", { clientId: "ada" });
    const second = await work.admitted("say next");
    await heard(stream, "permission_request");
    const { status, text } = await work.call("POST", "/cancel", { clientId: "bob", body: {} });
    expect({ status, text }).toEqual({ status: 204, text: "" });
    const cancelled = await heard(stream, "turn_complete", first);
    expect(cancelled.data.data.stopReason).toBe("cancelled");
    const next = await heard(stream, "turn_complete", second);
    expect(next.data.data.stopReason).toBe("end_turn");
    const order = ["prompt_cancelled", "permission_resolved", "turn_complete"];
    const told = stream.frames.map(({ event }) => event).filter((type) => order.includes(type));
    expect(told).toEqual([...order, "turn_complete"]);
    const whose = stream.frames.find(({ event }) => event === "prompt_cancelled");
    expect(whose?.data).toMatchObject({ promptId: first, originatorClientId: "bob" });
  });

  it("is told of once for one prompt, however often it is said", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const promptId = await work.admitted("hang");
    const answers = await Promise.all([1, 2, 3].map(() => work.call("POST", "/cancel")));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    await heard(stream, "turn_complete", promptId);
    const ofPrompt = stream.frames.filter(({ event, data }) => {
      return event === "prompt_cancelled" && Object(data).promptId === promptId;
    });
    expect(ofPrompt).toHaveLength(1);
  });

  it("answers 204 where nothing runs, and says so without a prompt", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    expect((await work.call("POST", "/cancel")).status).toBe(204);
    const told = await heard(stream, "prompt_cancelled");
    expect(told.data).not.toHaveProperty("promptId");
  });

  it("P8: is not for whom the session does not exist, and not for unknown clients", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    const foreign = await work.call("POST", "/cancel", { as: STRANGER });
    const unknown = await world.call("POST", "/session/nobody/cancel");
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(foreign.text).toBe(unknown.text.replaceAll("nobody", work.id));
    const eve = await work.call("POST", "/cancel", { clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const malformed = await work.call("POST", "/cancel", { clientId: "not a name" });
    expect(malformed.body).toEqual({ error: expect.any(String), code: "invalid_client_id" });
  });
});
