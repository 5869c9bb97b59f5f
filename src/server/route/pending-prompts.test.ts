import { describe, expect, it } from "vitest";
import { STRANGER } from "../daemon.fixture.ts";
import { heard, openWork, Work } from "./work.fixture.ts";

const IMAGE = { type: "image", mimeType: "image/png", data: "AAAA" };

/** One prompt at work, and two that wait. */
async function busy() {
  const work = await Work.made(await openWork(), "ada", "bob");
  const stream = await work.stream();
  const running = await work.admitted("hang", { clientId: "ada" });
  const second = await work.admitted("say second", { clientId: "bob" });
  const body = { prompt: [{ type: "text", text: "say third" }, IMAGE] };
  const third = await work.admitted("", { body });
  return { work, stream, running, second, third };
}

describe("GET /session/:id/pending-prompts", () => {
  it("lists the one at work, and those that wait in their order", async () => {
    const { work, running, second, third } = await busy();
    const { status, body } = await work.call("GET", "/pending-prompts", { clientId: "ada" });
    expect(status).toBe(200);
    const queuedAt = expect.any(Number);
    expect(body).toEqual({
      pendingPrompts: [
        {
          promptId: running,
          text: "hang",
          queuedAt,
          state: "running",
          originatorClientId: "ada",
          waitsFor: null,
        },
        {
          promptId: second,
          text: "say second",
          queuedAt,
          state: "queued",
          originatorClientId: "bob",
          waitsFor: null,
        },
        {
          promptId: third,
          text: "say third",
          content: [IMAGE],
          queuedAt,
          state: "queued",
          waitsFor: null,
        },
      ],
    });
  });

  it("is empty where nothing waits, and is not for clients that nobody knows", async () => {
    const work = await Work.made(await openWork());
    expect((await work.call("GET", "/pending-prompts")).body).toEqual({ pendingPrompts: [] });
    const eve = await work.call("GET", "/pending-prompts", { clientId: "eve" });
    expect(eve.status).toBe(400);
    expect(eve.body).toMatchObject({ code: "invalid_client_id", clientId: "eve" });
    const foreign = await work.call("GET", "/pending-prompts", { as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
  });
});

describe("DELETE /session/:id/pending-prompts/:promptId", () => {
  it("P2: takes one back that waits: it never runs, and has its verdict", async () => {
    const { work, stream, running, second, third } = await busy();
    const removed = await work.call("DELETE", `/pending-prompts/${second}`);
    expect([removed.status, removed.body]).toEqual([200, { removed: true }]);
    const verdict = await heard(stream, "turn_complete", second);
    expect(verdict.data.data.stopReason).toBe("cancelled");
    const before = await heard(stream, "pending_prompt_completed", second);
    expect(before.data.data.state).toBe("removed");
    expect(Number(before.id)).toBe(Number(verdict.id) - 1);
    await work.call("DELETE", `/pending-prompts/${running}`);
    await heard(stream, "turn_complete", third);
    const said = stream.frames.map(({ data }) => JSON.stringify(data.data)).join("");
    expect(said).not.toContain('"text":"second"');
    const again = await work.call("DELETE", `/pending-prompts/${second}`);
    expect(again.body).toEqual({ removed: false });
  });

  it("cancels the one at work", async () => {
    const { work, stream, running } = await busy();
    const removed = await work.call("DELETE", `/pending-prompts/${running}`);
    expect(removed.body).toEqual({ removed: true });
    const verdict = await heard(stream, "turn_complete", running);
    expect(verdict.data.data.stopReason).toBe("cancelled");
  });

  it("has nothing to take back where there is no such prompt", async () => {
    const work = await Work.made(await openWork());
    for (const id of ["none", "no%20id"]) {
      const answer = await work.call("DELETE", `/pending-prompts/${id}`);
      expect([answer.status, answer.body]).toEqual([200, { removed: false }]);
    }
    const eve = await work.call("DELETE", "/pending-prompts/none", { clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
  });
});
