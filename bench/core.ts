import {
  AGENT_STATUSES,
  applySessionTransition,
  decide,
  SESSION_STATES,
  type Session,
  VALID_TRANSITIONS,
} from "../src/core/index.ts";
import { Life } from "../src/core/session/life.fixture.ts";
import type { Trial } from "./trial.ts";

const CALLS = 1_000 * SESSION_STATES.length * AGENT_STATUSES.length;

// Each loop counts what it finds and looks at the count, so that no compiler can leave it out.
const statusChange: Trial = {
  name: "status change",
  floor: {
    name: "Set.has",
    run() {
      let legal = 0;
      for (let call = 0; call < CALLS; call += 1) {
        const current = SESSION_STATES[call % SESSION_STATES.length] ?? "inactive";
        const next = SESSION_STATES[(call >> 3) % SESSION_STATES.length] ?? "inactive";
        if (VALID_TRANSITIONS[current].has(next)) legal += 1;
      }
      return legal === 0 ? 0 : CALLS;
    },
  },
  subject: {
    name: "applySessionTransition",
    run() {
      let legal = 0;
      for (let call = 0; call < CALLS; call += 1) {
        const current = SESSION_STATES[call % SESSION_STATES.length] ?? "inactive";
        const agentStatus = AGENT_STATUSES[(call >> 3) % AGENT_STATUSES.length] ?? "created";
        if (applySessionTransition(current, agentStatus) !== null) legal += 1;
      }
      return legal === 0 ? 0 : CALLS;
    },
  },
};

/** A long turn: every text chunk of it must cost the same, the last as the first. */
const CHUNKS = 100_000;
const SLICE = 10_000;

/** How long each slice of the last measured turn took, first to last. */
let sliceMs: number[] = [];

const textChunk: Trial = {
  name: "text chunk, turn of 100,000",
  budget: ">= 1 M/s, flat",
  floor: {
    name: "event and bare copy",
    run: copyChunks,
  },
  subject: {
    name: "decide + evolve",
    run: decideChunks,
  },
  figures: () => ({ "last tenth / first tenth": flatness() }),
};

function decideChunks(): number {
  let session = sessionInTurn();
  const actor = { kind: "agent", activation: 1 } as const;
  sliceMs = [];
  for (let slice = 0; slice < CHUNKS / SLICE; slice += 1) {
    const startedMs = performance.now();
    for (let chunk = 0; chunk < SLICE; chunk += 1) {
      const type = "agent_update";
      session = decide(session, { type, atMs: chunk, actor, update: update() }).session;
    }
    sliceMs.push(performance.now() - startedMs);
  }
  return session?.connection.turn.hasOutput ? CHUNKS : Number.NaN;
}

const WORD = "fermata ";

function update() {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text: WORD } };
}

/** The least that an immutable step can be: one event made, three small objects copied. */
function copyChunks(): number {
  let session = sessionInTurn();
  const events = [];
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    if (session === null) return Number.NaN;
    const { connection, sessionId } = session;
    const data = { sessionId, update: update() };
    events[0] = { v: 1, type: "session_update", data, _meta: { serverTimestamp: chunk } };
    const hasOutput = data.update.content.text !== "";
    const turn = { ...connection.turn, hasOutput };
    session = { ...session, connection: { ...connection, turn } };
  }
  return events.length * CHUNKS;
}

function flatness(): string {
  const [first = Number.NaN, last = Number.NaN] = [sliceMs.at(0), sliceMs.at(-1)];
  return (first / last).toFixed(2);
}

function sessionInTurn(): Session | null {
  return new Life().running().session;
}

export const trials: readonly Trial[] = [statusChange, textChunk];
