import { expect, it } from "vitest";
import { SKIPPED_LISTED_MAX } from "../limits.ts";
import { listedSkipped } from "./skipped.ts";

const skipped = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `e${n}`, reason: "it is new" }));

it("P10: the list of what was skipped ends with how many more there are", () => {
  expect(listedSkipped(skipped(SKIPPED_LISTED_MAX))).toEqual(skipped(SKIPPED_LISTED_MAX));
  const listed = listedSkipped(skipped(256));
  expect(listed.slice(0, -1)).toEqual(skipped(31));
  expect(listed.at(-1)).toMatchObject({ name: "and 225 more" });
});
