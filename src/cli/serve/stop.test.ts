import { expect, it } from "vitest";
import { SIGNAL_ECHO_MS_MAX } from "../../core/limits.ts";
import { withoutEchoes } from "./stop.ts";

it("takes one Ctrl-C for one, though npm passes it on again, and the next for another", () => {
  let nowMs = 5_000;
  let count = 0;
  const press = withoutEchoes(
    () => {
      count += 1;
    },
    () => nowMs,
  );
  press();
  press();
  nowMs += SIGNAL_ECHO_MS_MAX - 1;
  press();
  expect(count).toBe(1);
  nowMs += 1;
  press();
  expect(count).toBe(2);
});
