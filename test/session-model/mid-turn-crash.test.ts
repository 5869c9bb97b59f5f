import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { STEERED_MESSAGES_MAX } from "../../src/core/limits.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { judged, SessionCaller } from "./caller.fixture.ts";
import { dataOf, ofType, verdictOf } from "./ear.fixture.ts";

const server = sharedServer();

/** A turn that waits for an answer, with as many prompts and messages behind it as there may be. */
async function full() {
  const session = await SessionCaller.create(server());
  const ear = await session.listen();
  const running = await session.send("ask command=ls", "say done");
  await ear.first(ofType("permission_request"));
  const prompts = [running];
  for (const _ of [2, 3, 4, 5]) prompts.push(await session.send("say a prompt"));
  const messageIds: string[] = [];
  for (let sent = 0; sent < STEERED_MESSAGES_MAX; sent += 1) {
    const messageId = randomUUID();
    const message = `say message ${sent}`;
    const answer = await session.ask("POST", "/mid-turn-message", { message, messageId });
    expect(answer.body).toEqual({ accepted: true, messageId });
    messageIds.push(messageId);
  }
  return { session, prompts, messageIds };
}

describe("messages into a turn whose server is killed", { timeout: 120_000 }, () => {
  it("P1, P2, P3: are all there, and each is a prompt with one verdict, in order", async () => {
    const { session, prompts, messageIds } = await full();
    await server().kill("SIGKILL");
    await server().restart();
    const ear = await session.listen();
    for (const messageId of messageIds) await ear.first(verdictOf(messageId));
    const all = [...prompts.map(({ promptId }) => promptId), ...messageIds];
    const verdicts = ear.events.filter((event) => {
      return ofType("turn_complete")(event) || ofType("turn_error")(event);
    });
    expect(verdicts.map((event) => dataOf(event).promptId)).toEqual(all);
    const texts: string[] = [];
    for (const messageId of messageIds) texts.push((await judged(ear, messageId)).text);
    expect(texts).toEqual(messageIds.map((_, index) => `message ${index}`));
    const { body } = await session.ask("GET", "/mid-turn-messages");
    expect(body).toEqual({
      messages: [],
      settledMessageIds: [],
      promotedMessageIds: messageIds,
    });
    const again = { message: "say message 0", messageId: messageIds[0] };
    const repeat = await session.ask("POST", "/mid-turn-message", again);
    expect(repeat.body).toEqual({ accepted: true, messageId: messageIds[0] });
  });
});
