import { describe, expect, it } from "vitest";
import { errorTableFaults } from "./error-table.ts";

const errors = { session_busy: { status: 409 }, session_not_found: { status: 404 } };
const busy = "| `session_busy` | 409 | later | A turn is already running. |";
const notFound = "| `session_not_found` | `404` | never | No such session. |";

describe("the check of the error table", () => {
  it("accepts a page with one right row for each code, whatever else is on it", () => {
    const page = ["# Errors", "| Code | Status |", "|---|---|", busy, notFound, "`other`"];
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
  ])("finds %s", (_what, rows, fault) => {
    expect(errorTableFaults(errors, rows.join("\n"))).toEqual([expect.stringContaining(fault)]);
  });
});
