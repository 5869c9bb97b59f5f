import { setImmediate as later } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { expectNoGap, Listener, newSession, script, spoken } from "./session.fixture.ts";

/** With its defaults: what a client does not read in time is then lost for it. */
const server = sharedServer();

const SESSIONS = 10;

/** A server that does not wait has lost every race over so many, nine of nine. */
const PROMPTS = Number(process.env.FERMATA_RACES ?? 300);

/** As many as may wait; with fewer, even a server that does not wait wins the race. */
const AT_ONCE = 5;

/** How long the loop of a busy client is blocked, again and again. */
const BUSY_MS = 50;
const PAUSE_MS = 3;

interface Race {
  readonly count: number;
  readonly atOnce: number;
}

/** How many prompts of a session have not come back when all their verdicts were heard. */
async function hungPrompts({ count, atOnce }: Race): Promise<number> {
  const ada = await newSession(server());
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

function block(ms: number) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("the SDK's prompt() while its stream is open", { timeout: 120_000 }, () => {
  it(`P3: comes back from each of ${PROMPTS} prompts to an instant agent`, async () => {
    expect(await hungPrompts({ count: PROMPTS, atOnce: 1 })).toBe(0);
  });

  it(`P3: comes back from ${PROMPTS} that race each other`, async () => {
    const race = { count: PROMPTS / SESSIONS, atOnce: AT_ONCE };
    const all = Array.from({ length: SESSIONS }, () => hungPrompts(race));
    expect(await Promise.all(all)).toEqual(all.map(() => 0));
  });

  it(`P3: comes back from ${PROMPTS} of a client that is busy in between`, async () => {
    const race = { count: PROMPTS / SESSIONS, atOnce: AT_ONCE };
    // When the loop comes back, the 202 and the verdict may both be there to be read.
    const busy = setInterval(() => block(BUSY_MS), PAUSE_MS);
    const all = Array.from({ length: SESSIONS }, () => hungPrompts(race));
    const hung = await Promise.all(all).finally(() => clearInterval(busy));
    expect(hung).toEqual(all.map(() => 0));
  });
});
