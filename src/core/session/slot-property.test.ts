import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject } from "../json.ts";
import { SESSION_STATES } from "../status.ts";
import { EMPTY_TURN } from "../turn.ts";
import { COMMAND_TYPES } from "./admission.ts";
import { commandFor } from "./anything.fixture.ts";
import { decide } from "./decide.ts";
import type { SessionEvent } from "./event.ts";
import { AGENT, dataOf, Life, newPrompt, noCredit, SERVER } from "./life.fixture.ts";
import { drawn, equals, inEveryLife, is, LIVES } from "./random-lives.fixture.ts";
import { CORE_SLOT, evolveLost, readSlot, sessionFromManifest, writeSlot } from "./slot.ts";
import { atWork, type Session } from "./state.ts";

/** No test is to fail by a clock: this is twenty times what the slowest of them takes here. */
const LIVES_MS_MAX = LIVES * 50;

const read = (text: string) => readSlot(CORE_SLOT.version, text);

/** Slow, but says what differs; so it is asked only if something does. */
function isSame(one: unknown, other: unknown) {
  if (!isDeepStrictEqual(one, other)) expect(one).toStrictEqual(other);
}

/** The session that its slot gives back, and the text of that one: the order of maps is in it. */
function again(session: Session): Session {
  const text = writeSlot(session);
  const back = read(text);
  if (back === null) return expect.fail(`the slot cannot be read: ${text}`);
  isSame(back, session);
  is(writeSlot(back), text);
  return back;
}

describe("the slot of any session", { timeout: LIVES_MS_MAX }, () => {
  it("P4: gives that session back, and the next command comes to the same on both", () => {
    let known: Session | null = null;
    let back: Session | null = null;
    inEveryLife(({ before, command, decision: { session, ...decision } }) => {
      if (before === null || session === null) return expect.fail("there is no session");
      const same = before === known && back !== null ? back : again(before);
      const { session: _, ...decided } = decide(same, command);
      isSame(decided, decision);
      back = session === before ? same : again(session);
      known = session;
    });
  });

  it("P4: damaged, gives nothing, or a session that any command can meet and that can rest", () => {
    const states = new Set<string>();
    const hurts = drawn(damages);
    atTheEndOfEveryLife((life, number) => {
      const text = writeSlot(life.now);
      for (const damage of hurts[number] ?? []) {
        const session = read(damaged(text, damage));
        if (session === null) continue;
        states.add(session.connection.sessionState);
        meetsEveryCommand(session, damage.pick);
        comesToRest(session);
      }
    });
    // Some damage is none, such as another word in a text; so all of this has been tried.
    expect([...states].toSorted()).toEqual([...SESSION_STATES].toSorted());
  });

  it("P6: cut short, gives nothing", () => {
    const cuts = drawn(fc.nat());
    atTheEndOfEveryLife((life, number) => {
      const text = writeSlot(life.now);
      is(read(text.slice(0, (cuts[number] ?? 0) % text.length)), null);
    });
  });
});

describe("a session whose slot is lost", { timeout: LIVES_MS_MAX }, () => {
  it("P6: goes on from its manifest and the events since its snapshot, or more of them", () => {
    const picks = drawn(fc.nat());
    atTheEndOfEveryLife((life, number) => {
      const lost = sessionFromManifest(MANIFEST, recordOf(life.now), "echo");
      const snapshot = life.log.findLastIndex(isSnapshot) + 1;
      for (const from of [snapshot, (picks[number] ?? 0) % (snapshot + 1)]) {
        const session = life.log.slice(from).reduce<Session>(evolveLost, lost);
        goesOnWith(session, life.now);
        const rest = again(comesToRest(session));
        is(rest.closed, comesToRest(life.now).closed);
        worksAgain(rest);
      }
    });
  });

  it("P2: has each verdict that its log does not have, exactly once", () => {
    atTheEndOfEveryLife((life) => {
      const lost = sessionFromManifest(MANIFEST, recordOf(life.now), "echo");
      const since = life.log.slice(life.log.findLastIndex(isSnapshot) + 1);
      const session = since.reduce<Session>(evolveLost, lost);
      const { events } = decide(session, { type: "recovery", atMs: 1, actor: SERVER });
      const due = atWork(life.now).map(({ promptId }) => promptId);
      equals(
        dataOf(events, "turn_error").map(({ promptId }) => promptId),
        due,
      );
    });
  });
});

function atTheEndOfEveryLife(look: (life: Life, number: number) => void) {
  inEveryLife(() => {}, look);
}

function meetsEveryCommand(session: Session, pick: number) {
  for (const type of COMMAND_TYPES) {
    const life = new Life();
    life.session = session;
    life.submit(commandFor(life, { type, pick, odd: pick % 2 === 0 }, 1_000));
  }
}

function comesToRest(session: Session): Session {
  const { kind, session: rest } = decide(session, { type: "recovery", atMs: 1, actor: SERVER });
  if (rest === null) return expect.fail("there is no session any more");
  is(kind, "accepted");
  const { phase, running, ending, connection } = rest;
  equals({ phase, running, ending }, { phase: "Closed", running: null, ending: null });
  const { sessionState, turn } = connection;
  equals({ sessionState, turn }, { sessionState: "inactive", turn: EMPTY_TURN });
  return rest;
}

/** The turn at work is the same, and no prompt comes back to life. */
function goesOnWith(session: Session, { running, queue, connection }: Session) {
  const { currentReservation } = connection.turn;
  is(session.running?.turnId, running?.turnId);
  equals(session.running?.stamp, running?.stamp);
  equals(session.connection.turn.currentReservation, currentReservation);
  const waiting = new Set(queue.map(({ promptId }) => promptId));
  is(session.queue.filter(({ promptId }) => !waiting.has(promptId)).length, 0);
}

/** Loaded, activated and prompted, it has a turn. */
function worksAgain(session: Session) {
  const life = new Life();
  life.session = session;
  is(life.give("resume", { skipped: [] }).kind, "accepted");
  life.give("activate", {});
  life.give("agent_status", { status: "connected", agentSessionId: null, context: "new" }, AGENT);
  for (const { promptId } of life.now.queue) life.give("remove_prompt", { promptId });
  life.give("prompt", { ...newPrompt("p-next"), start: noCredit("t-next") });
  is(life.state, "running");
}

const MANIFEST = {
  sessionId: new Life().created().now.sessionId,
  storeId: "memory",
  mode: "ask",
  createdAt: 1_001,
} as const;

function recordOf({ fixed, chosen, closed }: Session) {
  const { workspaceCwd, parentSessionId, createdBy = null } = fixed;
  const { displayName, name = null, activeAgent: agent, audience = null } = chosen;
  const source = { sourceType: null, sourceId: null };
  const seenBy = { createdBy, audience };
  const own = { workspaceCwd, displayName, name, agent, parentSessionId, closed };
  return { ...own, ...source, ...seenBy, shared: true };
}

function isSnapshot(event: SessionEvent): boolean {
  return event.type === "session_lifecycle" && event.data.event === "SessionPersisted";
}

type Damage = { readonly pick: number; readonly instead: unknown };

/** What a value may have turned into; a missing one is told by `undefined`. */
const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({
    pick: fc.nat(1_000_000),
    instead: fc.oneof(
      fc.constantFrom(undefined, null, true, 0, -1, 0.5, 2 ** 53, "", "x", [], {}, [[]], [["a"]]),
      fc.constantFrom(...SESSION_STATES, "Closed", "Active", "Idle", "none", "client_close"),
      fc.jsonValue(),
    ),
  }),
  { minLength: 1, maxLength: 20 },
);

/** The text with one of its values replaced, taken away, or moved to where another was. */
function damaged(text: string, { pick, instead }: Damage): string {
  const json: unknown = JSON.parse(text);
  const places = [...placesIn(json)];
  const [inside, key] = places[pick % places.length] ?? [];
  const other = places[(pick >> 4) % places.length];
  const moved = pick % 5 === 0 && other ? structuredClone(Reflect.get(...other)) : instead;
  if (inside === undefined || key === undefined) return text;
  if (moved === undefined) Reflect.deleteProperty(inside, key);
  else Reflect.set(inside, key, moved);
  return JSON.stringify(json);
}

function* placesIn(json: unknown): Generator<[object, string]> {
  if (!isObject(json) && !Array.isArray(json)) return;
  for (const [key, inner] of Object.entries(json)) {
    yield [json, key];
    yield* placesIn(inner);
  }
}
