import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../json.ts";
import { RPC_NESTING_MAX } from "../limits.ts";
import { EMPTY_TURN } from "../turn.ts";
import { AGENT, askId, Life, newAsk } from "./life.fixture.ts";
import { CORE_SLOT, MIGRATIONS, type Migration, readSlot, writeSlot } from "./slot.ts";
import { CLOSING_TEXT_V1, WAITING_TEXT_V1 } from "./slot-v1.fixture.ts";
import { CLOSING_TEXT_V2, WAITING_TEXT_V2 } from "./slot-v2.fixture.ts";
import { CLOSING_TEXT_V3, WAITING_TEXT_V3 } from "./slot-v3.fixture.ts";
import { CLOSING_TEXT_V4, WAITING_TEXT_V4 } from "./slot-v4.fixture.ts";
import { CLOSING, CLOSING_TEXT, WAITING, WAITING_TEXT } from "./slot-v5.fixture.ts";
import type { Session } from "./state.ts";

const GOLDEN = [
  { what: "one that waits for people", session: WAITING, golden: WAITING_TEXT },
  { what: "one that is being closed", session: CLOSING, golden: CLOSING_TEXT },
];

const read = (text: string) => readSlot("5", text);
const compact = (text: string) => JSON.stringify(JSON.parse(text));

/** The golden text with the value at a path replaced; `undefined` takes it away. */
function withValue(text: string, path: string, value: unknown): string {
  const json: JsonObject = JSON.parse(text);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const inside = keys.reduce<unknown>((at, key) => at && Reflect.get(Object(at), key), json);
  expect(Object.keys(Object(inside)), `${path} is in the golden text`).toContain(last);
  if (value === undefined) Reflect.deleteProperty(Object(inside), last);
  else Reflect.set(Object(inside), last, value);
  return JSON.stringify(json);
}

/** The session as the versions before 5 knew it: it has no children. */
function beforeVersion5(session: Session): Session {
  const { turn } = session.connection;
  if (turn === EMPTY_TURN) return session;
  return {
    ...session,
    connection: { ...session.connection, turn: { ...turn, children: new Map() } },
  };
}

/** The session as the versions before 3 knew it: what was granted then is void. */
function beforeVersion3(latest: Session, grants: readonly string[]): Session {
  const session = beforeVersion5(latest);
  const { connection, running } = session;
  const asks = [...connection.turn.openAsks];
  const openAsks = new Map(asks.map(([id, { access: _, covers: __, ...ask }]) => [id, ask]));
  const turn = running === null ? EMPTY_TURN : { ...connection.turn, openAsks };
  return {
    ...session,
    connection: { ...connection, turn, sessionGrants: new Map() },
    running: running && { ...running, permits: [] },
    voidGrants: grants,
  };
}

describe("version 1 of the core's slot", () => {
  it.each([
    { what: "one that waits", session: WAITING, grants: ["edit:/b.ts"], text: WAITING_TEXT_V1 },
    { what: "one that is being closed", session: CLOSING, grants: [], text: CLOSING_TEXT_V1 },
  ])("P6: is still read, $what, without what it did not know", ({ session, grants, text }) => {
    const known = beforeVersion3(session, grants);
    const running = known.running && { ...known.running, slash: null };
    const unknown = { agentUntold: false, instructed: null, surroundings: null };
    expect(readSlot("1", text)).toStrictEqual({ ...known, running, ...unknown });
  });
});

describe("version 2 of the core's slot", () => {
  it.each([
    { what: "one that waits", session: WAITING, grants: ["edit:/b.ts"], text: WAITING_TEXT_V2 },
    { what: "one that is being closed", session: CLOSING, grants: [], text: CLOSING_TEXT_V2 },
  ])("P6: is still read, $what, and its grants are void", ({ session, grants, text }) => {
    expect(readSlot("2", text)).toStrictEqual(beforeVersion3(session, grants));
  });
});

describe("version 3 of the core's slot", () => {
  it.each([
    { what: "one that waits", session: WAITING, text: WAITING_TEXT_V3 },
    { what: "one that is being closed", session: CLOSING, text: CLOSING_TEXT_V3 },
  ])("P6: is still read, $what, without what decides nothing", ({ session, text }) => {
    expect(readSlot("3", text)).toStrictEqual(beforeVersion5(session));
  });

  it.each([
    ["connection.turn.fullContent", ""],
    ["connection.turn.acked", undefined],
  ])("P6: is read with `%s` as %j", (path, value) => {
    const { connection } = beforeVersion5(WAITING);
    const turn = { ...connection.turn, hasOutput: !path.endsWith("fullContent") };
    const session = { ...WAITING, connection: { ...connection, turn } };
    expect(readSlot("3", withValue(WAITING_TEXT_V3, path, value))).toStrictEqual(session);
  });

  it.each([
    ["connection", null],
    ["connection.turn", "t1"],
    ["connection.turn.turnId", undefined],
    ["connection.turn.fullContent", undefined],
    ["connection.turn.fullContent", 7],
    ["connection.turn.deferredInteractiveMessage", undefined],
    ["connection.turn.deferredInteractiveMessage", null],
    ["connection.turn.deferredInteractiveMessage", []],
    ["connection.turn.deferredInteractiveMessage.0.votes", {}],
  ])("P4: is no session with `%s` as %j", (path, value) => {
    expect(readSlot("3", withValue(WAITING_TEXT_V3, path, value))).toBeNull();
  });
});

describe("version 4 of the core's slot", () => {
  it.each([
    { what: "one that waits", session: WAITING, text: WAITING_TEXT_V4 },
    { what: "one that is being closed", session: CLOSING, text: CLOSING_TEXT_V4 },
  ])("P6: is still read, $what, without children", ({ session, text }) => {
    expect(readSlot("4", text)).toStrictEqual(beforeVersion5(session));
  });

  it("P4: is no session with a turn that is none", () => {
    const text = withValue(WAITING_TEXT_V4, "connection.turn", "t1");
    expect(readSlot("4", text)).toBeNull();
  });
});

describe("version 5 of the core's slot", () => {
  it("is the present one", () => {
    expect(CORE_SLOT).toEqual({ owner: "fermata.core", version: "5" });
    expect(MIGRATIONS).toHaveLength(4);
  });

  it.each(GOLDEN)("writes $what as it always has", ({ session, golden }) => {
    expect(writeSlot(session)).toBe(compact(golden));
  });

  it.each(GOLDEN)("P6: reads $what as it always has", ({ session, golden }) => {
    expect(read(golden)).toStrictEqual(session);
  });

  it("keeps the order of what is in order", () => {
    const asks = [3, 1, 2].map((n) => [askId(`a${n}`), { outcome: "cancelled" }] as const);
    const session: Session = { ...CLOSING, resolvedAsks: new Map(asks) };
    expect([...(read(writeSlot(session))?.resolvedAsks ?? [])]).toEqual(asks);
  });

  it("is the same text for a turn that is empty, whichever value says so", () => {
    const connection = {
      ...CLOSING.connection,
      turn: { ...EMPTY_TURN, completedToolIds: new Set<string>() },
    };
    expect(writeSlot({ ...CLOSING, connection })).toBe(writeSlot(CLOSING));
  });

  it("is about a kilobyte for a session at rest", () => {
    expect(writeSlot(new Life().ready().now).length).toBeLessThan(1_100);
  });
});

describe("what agents and clients say in their own words", () => {
  const evil = `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},
    "votes":[["a","b"]],"$map":[[1,2]],"half":"\\ud800","nothing":null,"size":0}`;

  it("P7: comes back as it was, whatever its keys are called, and harms nothing", () => {
    const life = new Life().running();
    const params: JsonObject = JSON.parse(evil);
    life.give("ask", newAsk("a1", { toolCall: JSON.parse(evil) }), AGENT);
    life.prompt("p2", { params, content: [{ type: "text", ...params }] });
    const back = read(writeSlot(life.now));
    // The matchers ask for `constructor`, which is a mere word here.
    expect(isDeepStrictEqual(back, life.now)).toBe(true);
    const kept = back?.queue[0]?.params ?? {};
    expect(Object.keys(kept)).toEqual(Object.keys(params));
    expect(JSON.stringify(kept)).toBe(compact(evil));
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("P10: may be nested as deep as a message may be, and no deeper", () => {
    const nested = (levels: number): JsonObject => {
      let inner: JsonObject = {};
      for (let level = 1; level < levels; level += 1) inner = { inner };
      return inner;
    };
    const deep = (levels: number) => withValue(WAITING_TEXT, "queue.0.params", nested(levels));
    expect(read(deep(RPC_NESTING_MAX))?.queue).toHaveLength(1);
    expect(read(deep(RPC_NESTING_MAX + 1))).toBeNull();
    const bottomless = WAITING_TEXT.replace('"params": null', `"params": ${"[".repeat(1e6)}`);
    expect(read(bottomless)).toBeNull();
    const wide = compact(WAITING_TEXT).replace(
      '"params":null',
      `"params":${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}`,
    );
    expect(read(wide)).toBeNull();
  });
});

/** Each of these is right in its place by its looks, or nearly so. */
const DAMAGE: readonly (readonly [path: string, value: unknown])[] = [
  ["sessionId", "../s"],
  ["sessionId", undefined],
  ["fixed.scope", "both"],
  ["fixed.allowlist", "edit:*"],
  ["fixed.source.id", 1],
  ["chosen.modelConfig.temperature", "hot"],
  ["chosen.budgetMicro", 0.5],
  ["chosen.approvalMode", "constructor"],
  ["phase", "none"],
  ["phase", "Closed"],
  ["phase", "Persisted"],
  ["closed", true],
  ["ending", { reason: "client_close", closedBy: null }],
  ["running", null],
  ["running.turnId", "t9"],
  ["running.stamp", {}],
  ["running.content", [{ text: "go" }]],
  ["queue.0.promptId", "p1"],
  ["queue.0.params", []],
  ["clients", {}],
  ["clients", [["c1", { count: 0, userId: null }]]],
  ["clients", [["c1", { count: 1, userId: null }, "more"]]],
  ["admissions.1.1.answer", { shellId: "sh1", promptId: "p1", lastEventId: 7 }],
  ["resolvedAsks.1.1", { outcome: "selected" }],
  ["activation", -1],
  ["instructed", { skills: "abc" }],
  ["surroundings.mcpServers", "files"],
  ["totals.tokensByModel.0.1.input", 2 ** 53],
  ["connection.sessionState", "ready"],
  ["connection.sessionState", "running"],
  ["connection.turn", null],
  ["connection.turn.turnId", "t9"],
  ["connection.turn.completedToolIds", ["call-1", "call-1"]],
  ["connection.turn.currentReservation", null],
  ["connection.turn.currentReservation.price.input", 1.5],
  ["connection.turn.currentReservation.turnId", "t9"],
  ["connection.turn.openAsks", null],
  ["connection.turn.openAsks", []],
  ["connection.turn.openAsks.0.votes", {}],
  ["connection.turn.openAsks.0.options", [{ kind: "allow_once" }]],
  ["connection.turn.openAsks.0.mediation.quorum", 0],
];

const { turn } = JSON.parse(WAITING_TEXT).connection;
const answered = { ...turn, openAsks: [] };

describe("a text that is not exactly a session", () => {
  it.each(DAMAGE)("P4: is none with `%s` as %j", (path, value) => {
    expect(read(withValue(WAITING_TEXT, path, value))).toBeNull();
  });

  it.each([
    ["phase", "none"],
    ["phase", "Closed"],
    ["connection.turn", answered],
    ["connection.sessionState", "ready"],
  ])("P4: is none with `%s` of another session's life", (path, value) => {
    expect(read(withValue(CLOSING_TEXT, path, value))).toBeNull();
  });

  it("P4: is none with a field more", () => {
    const more = (text: string) => read(text.replace('"scope"', '"later": 1, "scope"'));
    expect(more(WAITING_TEXT)).toBeNull();
    expect(read(WAITING_TEXT.replace('"sessionId"', '"__proto__": {}, "sessionId"'))).toBeNull();
  });

  it("P6: is none with a word more", () => {
    expect(read(`${WAITING_TEXT}x`)).toBeNull();
  });

  it("P4: is none with two clients of one name", () => {
    expect(read(WAITING_TEXT.replace('["c2", {"count"', '["c1", {"count"'))).toBeNull();
  });

  it.each(["", "null", "[]", "{}", '"s"', "1", "{", "\u0000"])("P6: is none as %j", (text) =>
    expect(read(text)).toBeNull(),
  );

  it.each(["0", "6", "", "01", "1.0", " 1", "-1", "one", "__proto__", "NaN"])(
    "P6: is none of version %j, which nobody has written",
    (version) => expect(readSlot(version, WAITING_TEXT)).toBeNull(),
  );
});

describe("a text of an older version", () => {
  /** As if the phase had once been called a stage, and before that been told by its number. */
  const toWord: Migration = ({ stage, ...rest }) => ({
    ...rest,
    stage: stage === 3 ? "Persisted" : "Idle",
  });
  const toPhase: Migration = ({ stage, ...rest }) => ({ ...rest, phase: stage });
  const migrations = [toWord, toPhase];
  const older = (stage: unknown) =>
    compact(CLOSING_TEXT.replace('"phase": "Persisted"', `"stage": ${stage}`));

  it("P6: is migrated one version at a time, and read as the present one", () => {
    expect(readSlot("1", older(3), migrations)).toStrictEqual(CLOSING);
    expect(readSlot("2", older('"Persisted"'), migrations)).toStrictEqual(CLOSING);
    expect(readSlot("3", CLOSING_TEXT, migrations)).toStrictEqual(CLOSING);
    expect(readSlot("4", CLOSING_TEXT, migrations)).toBeNull();
  });

  it("P4: is no session if it is not one after that", () => {
    expect(readSlot("2", older('"Paused"'), migrations)).toBeNull();
    expect(readSlot("3", older(3), migrations)).toBeNull();
  });

  it("P6: is no session if a migration stumbles over it", () => {
    const stumble: Migration = (json) => {
      const { missing } = json;
      return isObject(missing) ? json : JSON.parse(String(missing));
    };
    expect(readSlot("1", CLOSING_TEXT, [stumble])).toBeNull();
  });
});
