import { describe, expect, it } from "vitest";
import { COMMIT_YIELD_CHARS, EVENTS_KEPT_BYTES_MAX } from "../../core/limits.ts";
import { Life } from "../../core/session/life.fixture.ts";
import { keyOf, manifest as manifestOf } from "../../store/sample.fixture.ts";
import type { Snapshot } from "../../store/store.ts";
import { EMPTY_TALLY } from "../stats/tally.ts";
import { DEFAULT_SESSION_SETTINGS } from "../world.ts";
import { OpenHistory, readWindow, WINDOW_SLOT } from "./history.ts";
import { type Written, writeEvents } from "./written.ts";

const WORLD = { redact: (text: string) => text, settings: DEFAULT_SESSION_SETTINGS };
const LIFE = new Life().created();
const MANIFEST = manifestOf({ sessionId: keyOf("s").sessionId });

/** A history that goes on after a snapshot, or begins. */
function historyAfter(last: Snapshot | null): OpenHistory {
  const slot = last?.slots.find(({ owner }) => owner === WINDOW_SLOT.owner);
  const window = readWindow(new TextDecoder().decode(slot?.payload));
  const at = {
    manifest: MANIFEST,
    revision: last === null ? 0 : last.expectedRevision + 1,
    snapshotEventId: last?.turn?.lastId ?? 0,
    tally: EMPTY_TALLY,
  };
  return new OpenHistory(last === null ? at : { ...at, window }, WORLD);
}

/** One event that weighs a third of what may be kept. */
function heavy(id: number): readonly Written[] {
  const text = "x".repeat(EVENTS_KEPT_BYTES_MAX / 3);
  return writeEvents(LIFE.log.slice(0, 1), id).map((written) => ({
    ...written,
    text,
    bytes: text.length,
  }));
}

/** A snapshot with an event of its own after the one that was there before. */
function turnOf(history: OpenHistory, firstId: number): Snapshot {
  history.add(heavy(firstId));
  const last = heavy(firstId + 1);
  const order = { session: LIFE.now, last, prompt: null, isWhole: true, atMs: 1 };
  const snapshot = history.snapshotWith(order);
  history.add(last);
  history.close(snapshot);
  return snapshot;
}

describe("P10: the snapshot of a large turn", () => {
  it("is the same in steps, of which each writes one large text", async () => {
    const history = historyAfter(null);
    const life = new Life().running();
    const texts = ["x", "y", "z"].map((sign) => sign.repeat(COMMIT_YIELD_CHARS));
    for (const [index, text] of texts.entries()) life.says(text, { messageId: `m${index}` });
    history.add(writeEvents(life.log, 1));
    const content = { session: life.now, last: [], prompt: null, isWhole: true, atMs: 1 };
    let turns = 0;
    const turn = async () => {
      turns += 1;
    };
    const snapshot = await history.snapshotInTurns(content, { yield: turn });
    expect(snapshot).toEqual(history.snapshotWith(content));
    // One before it begins, one after each text, and one after the text of the turn.
    expect(turns).toBe(1 + texts.length + 1);
  });
});

describe("P10: the raw events that a session keeps", () => {
  it("weigh no more than they may, however few they are, and whoever counts them", () => {
    const first = historyAfter(null);
    expect(turnOf(first, 1).trimThrough).toBe(0);
    const second = turnOf(first, 3);
    expect(second.trimThrough).toBe(2);
    // After a restart it goes on from what is written in the snapshot.
    expect(turnOf(historyAfter(second), 5).trimThrough).toBe(4);
  });
});
