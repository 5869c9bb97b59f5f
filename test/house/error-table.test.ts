import { describe, expect, it } from "vitest";
import { errorTableFaults, turnErrorTableFaults } from "./error-table.ts";

const errors = {
  session_busy: { status: 409, name: "Session/Busy", retry: "later" },
  session_not_found: { status: 404, name: "Session/NotFound", retry: "never" },
};
const busy = "| `session_busy` | 409 | A turn is running. | later: wait. |";
const notFound = "| `session_not_found` | `404` | None. | never: look. |";
const names = [
  "| `Session/Busy` | `session_busy` |",
  "| `Session/NotFound` | `session_not_found` |",
];
const closed = "| `turn_error{closed}` | The session was closed. | Nothing. |";
const crashed = "| `turn_error{crashed}` | The agent ended. | Send it again. |";

describe("the check of the error table", () => {
  it("accepts a page with one right row for each code, whatever else is on it", () => {
    const page = ["# Errors", "| Code |", "|---|", busy, notFound, "`other`", closed, ...names];
    expect(errorTableFaults(errors, page.join("\n"))).toEqual([]);
  });

  it.each([
    ["a code without a row", [busy], "session_not_found has no row"],
    ["a row without a code", [busy, notFound, "| `gone` | 410 |"], "gone has a row but is no"],
    ["two rows for a code", [busy, busy, notFound], "session_busy has two rows"],
    [
      "another status",
      [busy.replace("409", "410"), notFound],
      "session_busy has a row without 409",
    ],
    ["other advice", [busy.replace("later:", "never:"), notFound], "a row without later:"],
  ])("finds %s", (_what, rows, fault) => {
    const page = [...rows, ...names].join("\n");
    expect(errorTableFaults(errors, page)).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ["a code without a name", names.slice(1), "the name Session/Busy of session_busy has no row"],
    [
      "another name",
      [...names, "| `Session/Full` | `session_busy` |"],
      "the name Session/Full of session_busy has a row but is no name",
    ],
    ["two rows for a name", [...names, ...names.slice(1)], "session_not_found has two rows"],
  ])("finds %s", (_what, rows, fault) => {
    const page = [busy, notFound, ...rows].join("\n");
    expect(errorTableFaults(errors, page)).toEqual([expect.stringContaining(fault)]);
  });
});

describe("the check of the table of turn errors", () => {
  const codes = ["closed", "crashed"];

  it("accepts a page with one row for each code, whatever else is on it", () => {
    expect(turnErrorTableFaults(codes, [busy, closed, crashed].join("\n"))).toEqual([]);
  });

  it.each([
    ["a code without a row", [closed], "crashed has no row"],
    ["a row without a code", [closed, crashed, "| `turn_error{x}` |"], "x has a row but is no"],
    ["two rows for a code", [closed, crashed, closed], "closed has two rows"],
  ])("finds %s", (_what, rows, fault) => {
    expect(turnErrorTableFaults(codes, rows.join("\n"))).toEqual([expect.stringContaining(fault)]);
  });
});
