import { DaemonPendingPromptLimitError, isDaemonTurnError } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import {
  dataOf,
  expectNoGap,
  joined,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
  updateOf,
  verdictsOf,
} from "./session.fixture.ts";

const server = sharedServer();
const DONE = { stopReason: "end_turn" };

describe("a prompt through the SDK", () => {
  it("that blocks has its answer from a stream of its own", async () => {
    const { client, sessionId, clientId } = await newSession(server());
    expect(await client.prompt(sessionId, script("say hello"))).toMatchObject(DONE);
    expect(await client.prompt(sessionId, script("say hello"), undefined, clientId)).toMatchObject(
      DONE,
    );
  });

  it("that does not block is answered at once, and its verdict comes by the stream", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(ada);
    const before = ada.lastEventId;
    const { promptId, lastEventId, eventEpoch } = await ada.submitPrompt(script("say hello"));
    expect(lastEventId).toBe(before);
    expect(eventEpoch).toBe(ada.eventEpoch);
    const verdict = await listener.verdict(promptId);
    expect(verdict).toMatchObject({ type: "turn_complete", data: DONE });
    expect(spoken(listener.events)).toBe("hello");
  });

  it("P3: is seen by two clients alike, from the first event on, with who sent it", async () => {
    const ada = await newSession(server());
    const bob = await joined(server(), ada);
    const [hers, his] = await Promise.all([ada, bob].map((one) => Listener.caughtUp(one)));
    expect(await ada.prompt(script("say hers"))).toMatchObject(DONE);
    const { promptId } = await bob.submitPrompt(script("say his"));
    await hers?.verdict(promptId);
    const last = (await his?.verdict(promptId))?.id ?? 0;
    const from = his?.after ?? 0;
    const [seen, same] = [his, hers].map((one) => {
      return one?.events.filter(({ id = 0 }) => id > from && id <= last) ?? [];
    });
    expectNoGap(hers?.events ?? []);
    expectNoGap(seen ?? [], from);
    expect(same).toEqual(seen);
    const asked = (seen ?? []).filter(
      (event) => updateOf(event).sessionUpdate === "user_message_chunk",
    );
    const who = asked.map(({ originatorClientId }) => originatorClientId);
    expect(who).toEqual([ada.clientId, bob.clientId]);
  });

  it("that the agent fails rejects with the agent's own code", async () => {
    const ada = await newSession(server());
    const failed = ada.prompt(script("fail -32001 no such luck"));
    await expect(failed).rejects.toSatisfy(isDaemonTurnError);
    await expect(failed).rejects.toMatchObject({ status: 500, body: "-32001" });
    expect(await ada.prompt(script("say better now"))).toMatchObject(DONE);
  });

  it("that is cancelled ends as cancelled, and the next one runs", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(ada);
    const hung = ada.prompt(script("say begun", "hang"));
    await listener.heard((event) => spoken([event]) === "begun");
    const next = ada.prompt(script("say next"));
    await ada.cancel();
    expect(await hung).toEqual({ stopReason: "cancelled" });
    expect(await next).toMatchObject(DONE);
    expect(listener.types.filter((type) => type === "prompt_cancelled")).toHaveLength(1);
  });

  it("that its sender gives up is cancelled by the SDK", async () => {
    // The SDK cancels only what it knows to be admitted, and the stream may be ahead of the answer.
    const admitted = Promise.withResolvers<void>();
    const ada = await newSession(server(), {
      fetch: async (...request) => {
        const answer = await fetch(...request);
        if (answer.status !== 202) return answer;
        const whole = new Response(await answer.text(), answer);
        admitted.resolve();
        return whole;
      },
    });
    const listener = await Listener.caughtUp(ada);
    const givingUp = new AbortController();
    const hung = ada.prompt(script("say begun", "hang"), givingUp.signal);
    await admitted.promise;
    await listener.heard((event) => spoken([event]) === "begun");
    givingUp.abort();
    await expect(hung).rejects.toThrow();
    const verdict = await listener.heard("turn_complete");
    expect(dataOf(verdict)).toMatchObject({ stopReason: "cancelled" });
  });
});

describe("the queue of a session", () => {
  it("P10: takes five, and says so to the sixth", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(ada);
    const hung = ada.prompt(script("say begun", "hang"));
    await listener.heard((event) => spoken([event]) === "begun");
    const words = ["one", "two", "three", "four"];
    const waiting = [];
    for (const word of words) waiting.push(await ada.submitPrompt(script(`say ${word}`)));
    const sixth = ada.submitPrompt(script("say too much"));
    await expect(sixth).rejects.toBeInstanceOf(DaemonPendingPromptLimitError);
    await expect(sixth).rejects.toMatchObject({ limit: 5, pendingCount: 5 });
    const { pendingPrompts } = await ada.getPendingPrompts();
    const states = pendingPrompts.map(({ state }) => state);
    expect(states).toEqual(["running", ...words.map(() => "queued")]);

    await ada.cancel();
    expect(await hung).toEqual({ stopReason: "cancelled" });
    for (const { promptId } of waiting) await listener.verdict(promptId);
    expect(spoken(listener.events)).toBe("begunonetwothreefour");
    for (const { promptId } of waiting) {
      expect(verdictsOf(listener.events, promptId)).toHaveLength(1);
    }
    expectNoGap(listener.events);
  });

  it("P2: gives up one that waits, with its one verdict", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(ada);
    const hung = await ada.submitPrompt(script("hang"));
    const { promptId } = await ada.submitPrompt(script("say never"));
    expect(await ada.removePendingPrompt(promptId)).toEqual({ removed: true });
    expect(dataOf(await listener.verdict(promptId))).toMatchObject({ stopReason: "cancelled" });
    await ada.cancel();
    await listener.verdict(hung.promptId);
    expect(spoken(listener.events)).toBe("");
    expect(verdictsOf(listener.events, promptId)).toHaveLength(1);
  });
});

describe("a client id that is not registered any more", () => {
  it("is healed by the SDK: it registers anew, and the prompt runs once", async () => {
    const ada = await newSession(server());
    const bob = await Listener.caughtUp(await joined(server(), ada));
    const before = ada.clientId;
    await ada.client.detachSession(ada.sessionId, before);
    expect(await refusalOf(ada.heartbeat())).toMatchObject({ code: "invalid_client_id" });
    expect(await ada.prompt(script("say healed"))).toMatchObject(DONE);
    expect(ada.clientId).not.toBe(before);
    const verdict = await bob.heard("turn_complete");
    expect(verdict.originatorClientId).toBe(ada.clientId);
    expect(spoken(bob.events)).toBe("healed");
  });

  it("is healed while its stream is open, too", async () => {
    const ada = await newSession(server());
    const bob = await joined(server(), ada);
    const listener = await Listener.caughtUp(ada);
    await bob.client.detachSession(ada.sessionId, ada.clientId);
    expect(await ada.prompt(script("say healed"))).toMatchObject(DONE);
    expect(spoken(listener.events)).toBe("healed");
    expectNoGap(listener.events);
  });
});
