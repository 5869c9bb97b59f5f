import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AGENT_STATUSES,
  type AgentStatus,
  applySessionTransition,
  hasTurn,
  migrateLegacyStatus,
  SESSION_STATES,
  type SessionState,
  transitionSessionState,
  VALID_TRANSITIONS,
} from "./status.ts";

/** The seven states in the order of the columns below, written out here and not imported. */
const COLUMNS = [
  "inactive",
  "activating",
  "ready",
  "running",
  "waiting",
  "deactivating",
  "error",
] as const;

const yes = "yes";
const no = "no";

/** The published adjacency table, copied by hand: rows are where a session is, columns where to. */
// biome-ignore format: a table is read by its columns
const EDGES: Readonly<Record<SessionState, readonly ("yes" | "no")[]>> = {
  //            inact activ ready runng waitg deact error
  inactive:     [no,  yes,  no,   no,   no,   no,   no],
  activating:   [yes, no,   yes,  no,   no,   no,   yes],
  ready:        [yes, no,   no,   yes,  no,   yes,  yes],
  running:      [no,  no,   yes,  no,   yes,  yes,  yes],
  waiting:      [no,  no,   no,   yes,  no,   yes,  yes],
  deactivating: [yes, no,   no,   no,   no,   no,   yes],
  error:        [yes, yes,  no,   no,   no,   no,   no],
};

const ina = "inactive";
const act = "activating";
const rdy = "ready";
const run = "running";
const wai = "waiting";
const dea = "deactivating";
const err = "error";
const nil = null;

/** The seed's mapping met with its edges, by hand: columns are where the session is. */
// biome-ignore format: a table is read by its columns
const CELLS: Readonly<Record<AgentStatus, readonly (SessionState | null)[]>> = {
  //                   inact activ ready runng waitg deact error
  created:            [act,  nil,  nil,  nil,  nil,  nil,  act],
  connected:          [nil,  rdy,  nil,  rdy,  nil,  nil,  nil],
  turn_started:       [nil,  nil,  run,  nil,  run,  nil,  nil],
  turn_complete:      [nil,  rdy,  nil,  rdy,  nil,  nil,  nil],
  turn_error:         [nil,  err,  err,  rdy,  nil,  err,  nil],
  question_requested: [nil,  nil,  nil,  wai,  nil,  nil,  nil],
  approval_resolved:  [nil,  nil,  run,  nil,  run,  nil,  nil],
  terminating:        [nil,  nil,  dea,  dea,  dea,  nil,  nil],
  terminated:         [nil,  ina,  ina,  nil,  nil,  ina,  ina],
  error:              [nil,  err,  err,  err,  err,  err,  nil],
};

const PAIRS = COLUMNS.flatMap((from) =>
  COLUMNS.map((to, column) => ({ from, to, legal: EDGES[from][column] })),
);

const STATUSES = [
  "created",
  "connected",
  "turn_started",
  "turn_complete",
  "turn_error",
  "question_requested",
  "approval_resolved",
  "terminating",
  "terminated",
  "error",
] as const;

const ANSWERS = STATUSES.flatMap((status) =>
  COLUMNS.map((current, column) => ({ status, current, next: CELLS[status][column] })),
);

describe("P4: the vocabulary", () => {
  it("has the seed's seven states, and a row in the table for each", () => {
    expect(SESSION_STATES).toEqual(COLUMNS);
    expect(Object.keys(VALID_TRANSITIONS).sort()).toEqual([...COLUMNS].sort());
  });

  it("has the seed's ten agent statuses", () => {
    expect(AGENT_STATUSES).toEqual(STATUSES);
  });

  it("says that a turn is open while running or waiting, and at no other time", () => {
    expect(COLUMNS.filter(hasTurn)).toEqual(["running", "waiting"]);
  });
});

describe("81: P4: the 49 pairs of VALID_TRANSITIONS", () => {
  it.each(PAIRS)("$from to $to: $legal", ({ from, to, legal }) => {
    expect(VALID_TRANSITIONS[from].has(to)).toBe(legal === "yes");
  });

  it("are 19 edges and 30 absences", () => {
    expect(PAIRS).toHaveLength(49);
    const edges = COLUMNS.flatMap((from) => [...VALID_TRANSITIONS[from]]);
    expect(edges).toHaveLength(19);
  });

  it.each([
    ["error", "ready", "a broken agent is never trusted again without a fresh connection"],
    ["error", "running", "a broken agent never goes on with its turn"],
    ["inactive", "error", "a failure that arrives after the teardown is no news"],
    ["waiting", "ready", "an open ask ends by way of running, so that the turn is settled"],
    ["activating", "deactivating", "an activation that is called off has nothing to take down"],
    ["running", "inactive", "a turn ends before its agent is gone"],
    ["waiting", "inactive", "a turn ends before its agent is gone"],
  ] as const)("have no edge from %s to %s: %s", (from, to, _why) => {
    expect(VALID_TRANSITIONS[from].has(to)).toBe(false);
    expect(transitionSessionState(from, to)).toBe("illegal");
  });
});

describe("P4: the ways through the table", () => {
  /** Every state that can be reached without ever passing through the closed one. */
  function reachable(start: SessionState, closed: SessionState | null): readonly SessionState[] {
    const seen = new Set<SessionState>([start]);
    for (const state of seen) {
      for (const next of VALID_TRANSITIONS[state]) if (next !== closed) seen.add(next);
    }
    return [...seen].sort();
  }

  it("lead from error to ready or running only through activating", () => {
    expect(reachable("error", "activating")).toEqual(["error", "inactive"]);
    expect(reachable("error", null)).toEqual([...COLUMNS].sort());
  });

  it("lead from rest to a turn only through ready", () => {
    expect(reachable("inactive", "ready")).toEqual(["activating", "error", "inactive"]);
  });

  it.each(COLUMNS)("lead from %s back to rest", (state) => {
    expect(reachable(state, null)).toContain("inactive");
  });
});

describe("P4: the 70 cells of applySessionTransition", () => {
  it.each(ANSWERS)("$status while $current: $next", ({ status, current, next }) => {
    expect(applySessionTransition(current, status)).toBe(next);
  });

  it("are 27 states and 43 refusals", () => {
    const given = STATUSES.flatMap((status) =>
      COLUMNS.map((current) => applySessionTransition(current, status)),
    );
    expect(given.filter((next) => next !== null)).toHaveLength(27);
    expect(given.filter((next) => next === null)).toHaveLength(43);
  });
});

describe("P4: the guard transitionSessionState", () => {
  const expected = (from: SessionState, to: SessionState, legal: string | undefined) => {
    if (from === to) return "unchanged";
    return legal === "yes" ? "changed" : "illegal";
  };

  it.each(PAIRS.map(({ from, to, legal }) => ({ from, to, says: expected(from, to, legal) })))(
    "$from to $to: $says",
    ({ from, to, says }) => {
      expect(transitionSessionState(from, to)).toBe(says);
    },
  );

  it("finds 7 pairs unchanged, 19 changed and 23 illegal", () => {
    const counts = { unchanged: 0, changed: 0, illegal: 0 };
    for (const { from, to } of PAIRS) counts[transitionSessionState(from, to)] += 1;
    expect(counts).toEqual({ unchanged: 7, changed: 19, illegal: 23 });
  });
});

describe("P4: a stored status", () => {
  it.each(COLUMNS)("that is current passes unchanged: %s", (state) => {
    expect(migrateLegacyStatus(state)).toBe(state);
  });

  it.each([
    ["idle", "inactive"],
    ["running", "running"],
    ["awaiting_question", "waiting"],
    ["error", "error"],
  ] as const)("of the older model is read: %s is %s now", (stored, state) => {
    expect(migrateLegacyStatus(stored)).toBe(state);
  });

  it.each(["", " ready", "READY", "Idle", "unknown", "null", "0", "toString", "__proto__"])(
    "that nobody ever wrote is taken for rest: %j",
    (stored) => {
      expect(migrateLegacyStatus(stored)).toBe("inactive");
    },
  );

  it("is never written in the older model's words, whatever was read", () => {
    const legacyOrNot = fc.oneof(fc.constantFrom("idle", "awaiting_question"), fc.string());
    fc.assert(
      fc.property(legacyOrNot, (stored) => {
        const state = migrateLegacyStatus(stored);
        expect(COLUMNS).toContain(state);
        expect(migrateLegacyStatus(state)).toBe(state);
      }),
    );
  });
});
