import { setImmediate as later } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import { expectNoGap, Listener, newSession, script, spoken } from "./session.fixture.ts";

/** As it comes: a verdict follows its 202 by the ruled 5 ms. */
const usual = sharedServer();

/**
 * A client that is busy for longer than the lead can still read a verdict before its 202: these
 * ten share two cores with the server and other tests, so they are given much more.
 */
const patient = sharedServer({ flags: ["--verdict-lead-ms", "200"] });

const SESSIONS = 10;
const PROMPTS = 1_000;

/** As many as may wait; with fewer, even a server that does not wait wins the race. */
const AT_ONCE = 5;

interface Race {
  readonly server: ServeProcess;
  readonly count: number;
  readonly atOnce: number;
}

/** How many prompts of a session have not come back when all their verdicts were heard. */
async function hungPrompts({ server, count, atOnce }: Race): Promise<number> {
  const ada = await newSession(server);
  const listener = await Listener.caughtUp(ada);
  let [sent, settled] = [0, 0];
  const race = async () => {
    await ada.prompt(script("say x"));
    settled += 1;
  };
  while (sent < count && settled === sent) {
    const before = ada.lastEventId ?? 0;
    const racing = Promise.allSettled(Array.from({ length: atOnce }, race));
    sent += atOnce;
    let verdicts = 0;
    await listener.heard(({ type, id = 0 }) => {
      if (type === "turn_complete" && id > before) verdicts += 1;
      return verdicts === atOnce;
    });
    await later();
    if (settled === sent) await racing;
  }
  expectNoGap(listener.events);
  expect(spoken(listener.events)).toBe("x".repeat(sent));
  return sent - settled;
}

describe("the SDK's prompt() while its stream is open", { timeout: 120_000 }, () => {
  it(`P3: comes back from each of ${PROMPTS} prompts to an instant agent`, async () => {
    const race = { server: usual(), count: PROMPTS, atOnce: 1 };
    expect(await hungPrompts(race)).toBe(0);
  });

  it(`P3: comes back from ${PROMPTS} that race each other, if given the time`, async () => {
    const race = { server: patient(), count: PROMPTS / SESSIONS, atOnce: AT_ONCE };
    const all = Array.from({ length: SESSIONS }, () => hungPrompts(race));
    expect(await Promise.all(all)).toEqual(all.map(() => 0));
  });
});
