import { describe, expect, it } from "vitest";
import type { AgentListener, AgentSession, AgentTurn, ConnectRequest } from "../../agent/agent.ts";
import { PROMPT_ANSWER_LEAD_MS } from "../../core/limits.ts";
import { DONE } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { PlayedAgents } from "../../session/played-agents.fixture.ts";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import type { SessionWorld } from "../../session/world.ts";
import { openMemoryStore } from "../../store/sample.fixture.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { expectNoGap, heard, openWork, Work } from "./work.fixture.ts";

const PROMPTS = 200;

/** As many as may wait; with fewer, even a server that does not wait wins the race. */
const AT_ONCE = 5;

/** Agents that answer at once. */
class InstantAgents extends PlayedAgents {
  override connect(order: ConnectRequest, listener: AgentListener) {
    const prompt = ({ turnId }: AgentTurn) => {
      const done = { status: "turn_complete", turnId, stopReason: "end_turn" } as const;
      queueMicrotask(() => listener.status(done));
      return DONE;
    };
    const connected = (agent: AgentSession) => listener.connected(Object.assign(agent, { prompt }));
    return super.connect(order, { ...listener, connected });
  }
}

/** A world in which nothing takes any time, but clocks. */
async function instantly(waits: number[] = []): Promise<Partial<SessionWorld>> {
  return {
    agents: new InstantAgents(),
    store: await openMemoryStore(),
    clock: fairClock(waits),
  };
}

/**
 * A clock whose waits are never over before clients have had their turn. Server and client share
 * one thread here, so a busy machine would else take the client's time away and leave the server
 * its own: what is tested is the order, and not how busy the machine is.
 */
function fairClock(waits: number[]): Clock {
  return {
    nowMs: REAL_CLOCK.nowMs,
    after(ms, act) {
      waits.push(ms);
      let isOff = false;
      const unlessOff = () => {
        if (!isOff) act();
      };
      const callOff = REAL_CLOCK.after(ms, () => setImmediate(() => setImmediate(unlessOff)));
      return () => {
        isOff = true;
        callOff();
      };
    },
  };
}

/** Sends a prompt, and looks whether its verdict was there before its answer. */
async function race(work: Work, stream: StreamClient) {
  const promptId = await work.admitted("be quick", { clientId: "ada" });
  const isEarly = stream.frames.some(({ event, data }) => {
    return event === "turn_complete" && data.data.promptId === promptId;
  });
  return { promptId, isEarly };
}

describe("the verdict of an instant agent, on a stream that is open already", () => {
  it("P3: never reaches its client before the 202 does", { timeout: 60_000 }, async () => {
    const waits: number[] = [];
    const work = await Work.made(await openWork({ world: await instantly(waits) }), "ada");
    const stream = await work.stream({ "last-event-id": "0" });
    const early: string[] = [];
    for (let sent = 0; sent < PROMPTS; sent += AT_ONCE) {
      const five = Array.from({ length: AT_ONCE }, () => race(work, stream));
      for (const { promptId, isEarly } of await Promise.all(five)) {
        if (isEarly) early.push(promptId);
        await heard(stream, "turn_complete", promptId);
      }
    }
    expect(early).toEqual([]);
    expect(waits.filter((ms) => ms === PROMPT_ANSWER_LEAD_MS)).toHaveLength(PROMPTS);
    expectNoGap(stream.frames);
  });
});
