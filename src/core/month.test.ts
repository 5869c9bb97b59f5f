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

  it("ends where the next one begins, from the first to the last", () => {
    for (let month = monthOf(0); month < monthOf(0) + 1_200; month += 1) {
      expect(monthOf(monthEndMs(month))).toBe(month + 1);
      expect(monthOf(monthEndMs(month) - 1)).toBe(month);
    }
  });

  it.each([Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER])("is one even at %d ms", (atMs) => {
    const month = monthOf(atMs);
    expect(Number.isSafeInteger(month)).toBe(true);
    expect(Number.isSafeInteger(monthEndMs(month))).toBe(true);
    expect(renewalOf(month)).toMatch(/Z$/);
  });
});
