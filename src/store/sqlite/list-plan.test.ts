import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import * as sample from "../kit/sample.ts";
import type { ListFilter } from "../store.ts";
import { listQuery } from "./list.ts";
import { MIGRATIONS } from "./schema.ts";

/**
 * A page of a list costs what is on it, however many sessions there are: the database finds the
 * place in an index, and does not sort. It says itself how it would go about it.
 */
const db = new Database(":memory:");
for (const migration of MIGRATIONS) db.exec(migration);
db.function("fold", { deterministic: true }, (text) => String(text));
afterAll(() => db.close());

const NEXT = { updatedAtMs: 5, sessionId: "s" };

function planOf(filter: ListFilter, after: typeof NEXT | null): string {
  const { sql, values } = listQuery(filter, after);
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  // What SQLite answers to this is documented to have a text called detail.
  return steps.map((step) => String((step as { detail: unknown }).detail)).join("; ");
}

const LISTS: readonly (readonly [string, ListFilter, string])[] = [
  ["all", {}, "sessions_by_time"],
  ["a workspace's", { workspaceCwd: "/w" }, "sessions_by_workspace"],
  ["those of one status", { statuses: ["running"] }, "sessions_by_status"],
  ["a parent's", { parentSessionId: sample.sessionId("p") }, "sessions_by_parent"],
  ["a source's", { sourceType: "chat", sourceId: "7" }, "sessions_by_source"],
  ["those of one name", { name: sample.sessionName("fix") }, "sessions_by_name"],
  ["those of one agent", { agent: "echo" }, "sessions_by_agent"],
  ["those with prompts", { hasPendingPrompts: true }, "sessions_with_prompts"],
  ["those since", { updatedFromMs: 3 }, "sessions_by_time"],
  ["those before", { updatedBeforeMs: 9 }, "sessions_by_time"],
];

describe.each(LISTS)("the list of %s", (_, filter, index) => {
  it("comes out of its index in order", () => {
    const plan = planOf(filter, null);
    expect(plan).toContain(index);
    expect(plan).not.toContain("TEMP B-TREE");
  });

  it("goes on where the page before has ended", () => {
    const plan = planOf(filter, NEXT);
    expect(plan).toMatch(new RegExp(`SEARCH sessions USING INDEX ${index} \\(.*updated_at_ms<`));
    expect(plan).not.toContain("TEMP B-TREE");
  });
});

it("a list of one type of source, whatever its id, is found by its index and then sorted", () => {
  const plan = planOf({ sourceType: "chat" }, null);
  expect(plan).toContain("sessions_by_source");
  expect(plan).toContain("TEMP B-TREE");
});
