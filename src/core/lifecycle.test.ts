import { describe, expect, it } from "vitest";
import { ERRORS, errorBody, type Refusal } from "./error.ts";
import {
  applyLifecycleEvent,
  LIFECYCLE_EVENTS,
  type LifecycleEvent,
  PHASE_AFTER,
  PHASES,
  type Phase,
  type PhaseBefore,
} from "./lifecycle.ts";
import { AGENT, client, dataOf, Life, newPrompt, noCredit } from "./session/life.fixture.ts";

/** The seed's seven events in the order of the columns below, and its five phases. */
const EVENTS = [
  "SessionStarted",
  "SessionTurnStart",
  "SessionTurnEnd",
  "SessionPersisted",
  "SessionResumeStarted",
  "SessionResumed",
  "SessionClosed",
] as const;
const FIVE = ["Idle", "Active", "Persisted", "Resumed", "Closed"] as const;
const BEFORE = ["none", ...FIVE] as const;

const idle = "Idle";
const actv = "Active";
const pers = "Persisted";
const resu = "Resumed";
const clos = "Closed";
const nil = null;

/** Where each event leads from each phase, by hand; nil is no such step. */
// biome-ignore format: a table is read by its columns
const CELLS: Readonly<Record<PhaseBefore, readonly (Phase | null)[]>> = {
  //          Start TurnS TurnE Persd ResSt Resmd Closd
  none:      [idle, nil,  nil,  nil,  nil,  nil,  nil],
  Idle:      [nil,  actv, nil,  nil,  nil,  nil,  clos],
  Active:    [nil,  actv, actv, pers, nil,  nil,  clos],
  Persisted: [nil,  actv, nil,  nil,  resu, nil,  clos],
  Resumed:   [nil,  nil,  nil,  nil,  nil,  actv, clos],
  Closed:    [nil,  nil,  nil,  nil,  resu, nil,  nil],
};

const STEPS = BEFORE.flatMap((before) =>
  EVENTS.map((event, column) => ({ before, event, after: CELLS[before][column] })),
);

const yes = "yes";
const no = "no";

/**
 * Which phase can follow which, by hand: the seed's eight edges, the rulings that Idle and Resumed
 * may be closed at once, and the one that a closed record is brought back through Resumed.
 */
// biome-ignore format: a table is read by its columns
const EDGES: Readonly<Record<Phase, readonly ("yes" | "no")[]>> = {
  //          Idle Actv Pers Resu Clos
  Idle:      [no,  yes, no,  no,  yes],
  Active:    [no,  yes, yes, no,  yes],
  Persisted: [no,  yes, no,  yes, yes],
  Resumed:   [no,  yes, no,  no,  yes],
  Closed:    [no,  no,  no,  yes, no],
};

const PAIRS = FIVE.flatMap((from) =>
  FIVE.map((to, column) => ({ from, to, legal: EDGES[from][column] })),
);

const isRefusal = (answer: Phase | Refusal): answer is Refusal => typeof answer !== "string";

describe("P4: the vocabulary", () => {
  it("has the seed's five phases and seven events", () => {
    expect(PHASES).toEqual(FIVE);
    expect(LIFECYCLE_EVENTS).toEqual(EVENTS);
    expect(Object.keys(PHASE_AFTER)).toEqual(BEFORE);
  });
});

describe("81: P4: the 42 cells of the lifecycle", () => {
  it.each(STEPS)("$before, $event: $after", ({ before, event, after }) => {
    const answer = applyLifecycleEvent(before, event);
    if (after === null) expect(isRefusal(answer)).toBe(true);
    else expect(answer).toBe(after);
  });

  it("are 13 steps and 29 refusals", () => {
    const answers = STEPS.map(({ before, event }) => applyLifecycleEvent(before, event));
    expect(answers.filter((answer) => !isRefusal(answer))).toHaveLength(13);
    expect(answers.filter(isRefusal)).toHaveLength(29);
  });
});

describe("P4: the 25 pairs of phases", () => {
  const follows = (from: Phase, to: Phase) =>
    EVENTS.some((event) => applyLifecycleEvent(from, event) === to);

  it.each(PAIRS)("$from to $to: $legal", ({ from, to, legal }) => {
    expect(follows(from, to)).toBe(legal === "yes");
  });

  it("are 11 edges and 14 absences", () => {
    expect(PAIRS).toHaveLength(25);
    expect(PAIRS.filter(({ from, to }) => follows(from, to))).toHaveLength(11);
  });
});

describe("81: P4: a step that the lifecycle does not have", () => {
  it.each(STEPS.filter(({ after }) => after === null))(
    "names its state and its trigger: $before, $event",
    ({ before, event }) => {
      const code = "illegal_transition";
      const details = { state: before, trigger: event };
      expect(applyLifecycleEvent(before, event)).toEqual({ code, details });
    },
  );

  it("is the specification's Session/IllegalTransition, and a conflict on the wire", () => {
    expect(ERRORS.illegal_transition).toMatchObject({
      status: 409,
      name: "Session/IllegalTransition",
    });
    const answer = applyLifecycleEvent("Closed", "SessionTurnStart");
    expect(isRefusal(answer) && errorBody(answer)).toEqual({
      error: "SessionTurnStart is not allowed while Closed.",
      code: "illegal_transition",
      state: "Closed",
      trigger: "SessionTurnStart",
    });
  });
});

describe("P4: a life, event by event", () => {
  const LETTERS: Readonly<Record<string, LifecycleEvent>> = {
    S: "SessionStarted",
    t: "SessionTurnStart",
    e: "SessionTurnEnd",
    P: "SessionPersisted",
    r: "SessionResumeStarted",
    R: "SessionResumed",
    C: "SessionClosed",
  };

  /** The phases a word leads through, up to its end or to its first illegal letter. */
  function phasesOf(word: string): readonly PhaseBefore[] {
    const phases: PhaseBefore[] = ["none"];
    for (const letter of word) {
      const event = LETTERS[letter];
      if (event === undefined) throw new Error(`${letter} is no letter`);
      const after = applyLifecycleEvent(phases.at(-1) ?? "none", event);
      if (isRefusal(after)) break;
      phases.push(after);
    }
    return phases;
  }

  it.each([
    ["one turn and a close", "StePC", [idle, actv, actv, pers, clos]],
    ["turns back to back", "StePtePC", [idle, actv, actv, pers, actv, actv, pers, clos]],
    ["left without a turn", "SC", [idle, clos]],
    ["closed in the middle of a turn", "StC", [idle, actv, clos]],
    [
      "resumed from its snapshot",
      "StePrRteP",
      [idle, actv, actv, pers, resu, actv, actv, actv, pers],
    ],
    ["resumed after its close", "StCrRteP", [idle, actv, clos, resu, actv, actv, actv, pers]],
    ["resumed and left at once, twice", "SCrCrC", [idle, clos, resu, clos, resu, clos]],
  ])("goes through: %s", (_what, word, phases) => {
    expect(phasesOf(word)).toEqual(["none", ...phases]);
  });

  it.each([
    ["a turn before the start", "t", 0],
    ["a second start", "SS", 1],
    ["the end of a turn that never began", "Se", 1],
    ["a snapshot before any turn", "SP", 1],
    ["a second snapshot of one turn", "StePP", 4],
    ["the end of a turn after its snapshot", "StPe", 3],
    ["a resume of a session that never left", "Sr", 1],
    ["a resume in the middle of a turn", "Str", 2],
    ["a turn after a resume without its SessionResumed", "StePrt", 5],
    ["SessionResumed without a resume", "StePR", 4],
    ["a resume of a resume", "StePrr", 5],
    ["a turn after the close", "StePCt", 5],
    ["a second close", "SCC", 2],
  ])("stops at the first wrong event: %s", (_what, word, lawful) => {
    expect(phasesOf(word)).toHaveLength(lawful + 1);
  });

  /**
   * The language by hand. After its start a session works or does not; work is a stretch of turns,
   * each stretch but the last followed by its snapshot; a session comes back after a close or
   * straight from a snapshot, and its first work is then begun by SessionResumed; a close is last.
   */
  const WHOLE_LIFE = /^S(?:t[te]*(?:Pt[te]*)*P?)?(?:(?:C|(?<=P))r(?:R[te]*(?:Pt[te]*)*P?)?)*C$/;

  it("is whole exactly if it is a word of the language, for all 137,256 words of 1 to 6", () => {
    const alphabet = Object.keys(LETTERS);
    const wrong: string[] = [];
    let tried = 0;
    let words: readonly string[] = [""];
    for (let length = 1; length <= 6; length += 1) {
      words = words.flatMap((word) => alphabet.map((letter) => word + letter));
      tried += words.length;
      for (const word of words) {
        const phases = phasesOf(word);
        const whole = phases.length === word.length + 1 && phases.at(-1) === "Closed";
        if (whole !== WHOLE_LIFE.test(word)) wrong.push(word);
      }
    }
    expect(tried).toBe(137_256);
    expect(wrong).toEqual([]);
  });

  it("is written by decide in the same order: turns, a stop, a way back, a close", () => {
    const life = new Life().running();
    life.complete("t1");
    life.give("prompt", { ...newPrompt("p2"), start: noCredit("t2") }, client(null));
    life.complete("t2");
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_exit", { exitCode: 0, signalCode: null, message: "" }, AGENT);
    life.give("activate", {});
    const report = { status: "connected", agentSessionId: null, context: "resumed" } as const;
    life.give("agent_status", report, AGENT);
    life.give("prompt", { ...newPrompt("p3"), start: noCredit("t3") }, client(null));
    life.complete("t3");
    life.give("close", {}, client(null));
    life.give("agent_exit", { exitCode: 0, signalCode: null, message: "" }, AGENT);
    const letterOf = new Map(Object.entries(LETTERS).map(([letter, event]) => [event, letter]));
    const told = dataOf(life.log, "session_lifecycle").map(({ event }) => letterOf.get(event));
    expect(told.join("")).toBe("StePtePCrRtePC");
  });
});
