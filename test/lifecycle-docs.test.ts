// docs/lifecycle.md is where comments point for the two state machines: its tables are the code's.

import { describe, expect, it } from "vitest";
import { LIFECYCLE_EVENTS, PHASE_AFTER, PHASES, type PhaseBefore } from "../src/core/lifecycle.ts";
import {
  AGENT_STATUSES,
  applySessionTransition,
  SESSION_STATES,
  VALID_TRANSITIONS,
} from "../src/core/status.ts";
import { readText } from "./house/files.ts";

const PAGE = readText("docs/lifecycle.md");

describe("docs/lifecycle.md", () => {
  it("has each status and exactly the edges of the table", () => {
    const [meanings, edges] = tablesIn("Status");
    expect(meanings?.map(([status]) => status)).toEqual([...SESSION_STATES]);
    const known = SESSION_STATES.map((from) => [from, [...VALID_TRANSITIONS[from]].join(", ")]);
    expect(edges).toEqual(known);
  });

  it("has each agent status, with where it points in each status", () => {
    const [rows = []] = tablesIn("Agent statuses");
    expect(rows.map(([agentStatus]) => agentStatus)).toEqual([...AGENT_STATUSES]);
    const pointsTo = new Map(rows.map(([agentStatus = "", target = ""]) => [agentStatus, target]));
    for (const agentStatus of AGENT_STATUSES) {
      for (const current of SESSION_STATES) {
        const next = applySessionTransition(current, agentStatus);
        if (next !== null) expect(pointsTo.get(agentStatus)).toContain(next);
      }
    }
  });

  it("has each phase, each of the seven events, and where these lead", () => {
    const [phases] = tablesIn("Phase");
    expect(phases?.map(([phase]) => phase)).toEqual([...PHASES]);
    const [events, cells] = tablesIn("Session events");
    expect(events?.map(([event]) => event)).toEqual([...LIFECYCLE_EVENTS]);
    const before: readonly PhaseBefore[] = ["none", ...PHASES];
    const known = before.map((phase) => {
      return [phase, ...LIFECYCLE_EVENTS.map((event) => PHASE_AFTER[phase][event] ?? "")];
    });
    expect(cells).toEqual(known);
  });
});

/** The cells of each table under a heading, without the heads and without code marks. */
function tablesIn(heading: string): readonly (readonly (readonly string[])[])[] {
  const [, after = ""] = PAGE.split(`\n## ${heading}\n`);
  const [section = ""] = after.split("\n## ");
  const tables = [...section.matchAll(/(?:^\|.*\|\n)+/gm)].map(([table]) => table.trim());
  return tables.map((table) => {
    const [, , ...rows] = table.split("\n");
    return rows.map((row) => {
      return row
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.replaceAll("`", "").trim());
    });
  });
}
