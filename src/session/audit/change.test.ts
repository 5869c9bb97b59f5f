import { describe, expect, it } from "vitest";
import { parseSessionId, parseUserId } from "../../core/id.ts";
import { given } from "../world.fixture.ts";
import { actEntry, changeEntry } from "./entries.ts";

const sessionId = given(parseSessionId("s"));
const userId = given(parseUserId("ada"));
const CHANGE = { act: "member_set", details: { role: "owner" }, atMs: 7 } as const;

describe("what the audit is told of a change of a tenant", () => {
  it.each([
    [{ kind: "client", userId } as const, { kind: "client", userId: "ada" }],
    [{ kind: "client", userId: null } as const, { kind: "client" }],
    [{ kind: "operator" } as const, { kind: "operator" }],
  ])("by %j has the shape that all entries have", (by, actor) => {
    const { text, ...entry } = changeEntry({ ...CHANGE, by });
    expect(entry).toMatchObject({ journal: "audit", sessionId: null, atMs: 7 });
    const { act, details } = CHANGE;
    expect(JSON.parse(text)).toEqual({ v: 1, act, actor, accepted: true, details });
  });

  it("is an entry of its own each time, unless it has a name", () => {
    const by = { kind: "operator" } as const;
    const [one, other] = [changeEntry({ ...CHANGE, by }), changeEntry({ ...CHANGE, by })];
    expect(one.key).not.toBe(other.key);
    const named = { ...CHANGE, by, key: "grant 1", sessionId };
    expect(changeEntry(named)).toEqual(changeEntry(named));
    expect(changeEntry(named)).toMatchObject({ key: "grant 1", sessionId });
  });
});

describe("what the audit is told of an agent's act", () => {
  it("has the same shape", () => {
    const told = { sessionId, number: "1-1", atMs: 7, act: "fs.write", details: { path: "a" } };
    const { act, details } = told;
    const shape = { v: 1, act, actor: { kind: "agent" }, accepted: true, details };
    expect(JSON.parse(actEntry(told).text)).toEqual(shape);
  });
});
