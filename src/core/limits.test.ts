import { describe, expect, it } from "vitest";
import * as limits from "./limits.ts";

const ALL = Object.entries<unknown>(limits);

const HOUR_MS = 3_600_000;
const MIB = 1_048_576;

/** The figures that a seed, the wire or a ruling gives, copied by hand. */
const GIVEN = {
  PROMPTS_PENDING_MAX: 5,
  PROMPT_ECHO_BLOCKS_MAX: 256,
  IDEMPOTENCY_KEYS_MAX: 256,
  IDEMPOTENCY_AGE_MS_MAX: 24 * HOUR_MS,
  STEERED_MESSAGES_MAX: 20,
  ASKS_OPEN_MAX: 64,
  ASKS_RESOLVED_MAX: 512,
  CLIENTS_MAX: 256,
  APPROVAL_KEY_CHARS_MAX: 1024,
  DISPLAY_NAME_CHARS_MAX: 256,
  TITLE_CHARS_MAX: 80,
  SESSION_NAME_CHARS_MAX: 64,
  SHELL_CONTEXT_CHARS_MAX: 10_000,
  REPLAY_COMPACTED_BYTES_MAX: 4 * MIB,
  REPLAY_JOURNAL_ENTRIES_MAX: 10_000,
  REPLAY_JOURNAL_BYTES_MAX: 8 * MIB,
  REPLAY_JOURNAL_CHUNKS_JOINED_MAX: 256,
};

describe("P10: the limits of the core", () => {
  it("are seen by these tests", () => {
    expect(ALL.length).toBeGreaterThanOrEqual(Object.keys(GIVEN).length);
  });

  it.each(ALL)(
    "%s is a whole number above zero that can be counted with exactly",
    (_name, limit) => {
      expect(limit).toSatisfy(Number.isSafeInteger);
      expect(limit).toBeGreaterThan(0);
    },
  );

  it.each(ALL)("%s ends in its unit, or says that it is a maximum or a minimum", (name) => {
    expect(name).toMatch(/^[A-Z]+(?:_[A-Z]+)*_(?:MAX|MIN|MS|BYTES|CHARS)$/);
  });

  it.each(Object.entries(GIVEN))("%s is %d, as specified", (name, figure) => {
    expect(new Map(ALL).get(name)).toBe(figure);
  });
});
