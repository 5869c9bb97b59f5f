import { describe, expect, it } from "vitest";
import { timeField } from "./request-schema.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);

describe("a time in a query", () => {
  it.each([
    ["2026-05-01", NOON_MS - 12 * 3_600_000],
    ["2026-05-01T12:00", NOON_MS],
    ["2026-05-01T12:00:00.001", NOON_MS + 1],
    ["2026-05-01T12:00Z", NOON_MS],
    ["2026-05-01T14:00+02:00", NOON_MS],
    ["2026-05-01T14:00 02:00", NOON_MS],
    ["2026-05-01T10:30-01:30", NOON_MS],
    [`${NOON_MS}`, NOON_MS],
    ["0", 0],
  ])("%s is the same wherever the server is", (text, ms) => {
    expect(timeField.parse(text)).toBe(ms);
  });

  it.each(["2026-02-31", "2026-02-29T12:00Z", "2026-04-31T00:00+02:00", "2025-02-29"])(
    "is not %s, which no calendar has",
    (text) => {
      expect(timeField.safeParse(text).success).toBe(false);
    },
  );

  it("is the 29th of February in a leap year", () => {
    expect(timeField.parse("2028-02-29")).toBe(Date.UTC(2028, 1, 29));
  });

  it.each(["", "now", "-1", "1.5", "2026-5-1", "2026-13-45", "2026-05-01T", "2026-05-01T25:00Z"])(
    "is not %j",
    (text) => {
      expect(timeField.safeParse(text).success).toBe(false);
    },
  );
});
