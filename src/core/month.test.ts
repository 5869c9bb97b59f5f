import { describe, expect, it } from "vitest";
import { monthEndMs, monthName, monthOf, renewalOf } from "./month.ts";

describe("a month", () => {
  it.each([
    ["2026-11-30T23:59:59.999Z", "2026-11", "2026-12-01T00:00:00.000Z"],
    ["2026-12-01T00:00:00.000Z", "2026-12", "2027-01-01T00:00:00.000Z"],
    ["2026-12-31T23:59:59.999Z", "2026-12", "2027-01-01T00:00:00.000Z"],
    ["2028-02-29T12:00:00.000Z", "2028-02", "2028-03-01T00:00:00.000Z"],
    ["1969-12-31T23:59:59.999Z", "1969-12", "1970-01-01T00:00:00.000Z"],
    ["0099-12-31T00:00:00.000Z", "0099-12", "0100-01-01T00:00:00.000Z"],
  ])("of %s is %s in UTC, and ends at %s", (at, name, end) => {
    const month = monthOf(Date.parse(at));
    expect([monthName(month), renewalOf(month)]).toEqual([name, end]);
  });

  it("is that of every other calendar, from the year 0 to the year 9999", () => {
    for (let month = 0; month < 9_999 * 12 + 10; month += 1) {
      const endMs = Date.parse(renewalOf(month));
      expect(monthEndMs(month)).toBe(endMs);
      expect([monthOf(endMs - 1), monthOf(endMs)]).toEqual([month, month + 1]);
    }
  });

  it.each([Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER])("is one even at %d ms", (atMs) => {
    const month = monthOf(atMs);
    expect(monthName(month)).toMatch(/^\d{4}-\d\d$/);
    expect(Date.parse(renewalOf(month))).toBe(monthEndMs(month));
  });
});
