import { expect, it } from "vitest";
import { stripsTypes } from "./type-stripping.ts";

it.each([
  ["22.14.0", false],
  ["22.17.1", false],
  ["22.18.0", true],
  ["22.23.3", true],
  ["23.5.0", false],
  ["23.6.0", true],
  ["24.0.0", true],
  ["26.1.0", true],
])("Node %s runs TypeScript: %s", (version, isRun) => {
  expect(stripsTypes(version)).toBe(isRun);
});
