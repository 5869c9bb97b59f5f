import { setImmediate as later } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { expectNoGap, Listener, newSession, script, spoken } from "./session.fixture.ts";

/**
 * A client that is busy for longer than the lead can still read a verdict before its 202: these
 * ten share two cores with the server, so they are given the wire's figure and not the ruling's.
 */
const server = sharedServer({ flags: ["--verdict-lead-ms", "50"] });

const SESSIONS = 10;
const PROMPTS = 1_000;

/** As many as may wait; with fewer, even a server that does not wait wins the race. */
const AT_ONCE = 5;

/** How many prompts of this session have not come back when all their verdicts were heard. */
async function hungPrompts(count: number): Promise<number> {
  const ada = await newSession(server());
  const listener = await Listener.caughtUp(ada);
  let [sent, settled] = [0, 0];
  const race = async () => {
    await ada.prompt(script("say x"));
    settled += 1;
  };
  while (sent < count && settled === sent) {
    const before = ada.lastEventId ?? 0;
    const racing = Promise.allSettled(Array.from({ length: AT_ONCE }, race));
    sent += AT_ONCE;
    let verdicts = 0;
    await listener.heard(({ type, id = 0 }) => {
      if (type === "turn_complete" && id > before) verdicts += 1;
      return verdicts === AT_ONCE;
    });
    await later();
    if (settled === sent) await racing;
  }
  expectNoGap(listener.events);
  expect(spoken(listener.events)).toBe("x".repeat(sent));
  return sent - settled;
}

describe("the SDK's prompt() while its stream is open (wire, 16.1)", { timeout: 120_000 }, () => {
  it(`P3: comes back from all of ${PROMPTS} prompts to an instant agent`, async () => {
    const all = Array.from({ length: SESSIONS }, () => hungPrompts(PROMPTS / SESSIONS));
    expect(await Promise.all(all)).toEqual(all.map(() => 0));
  });
});
