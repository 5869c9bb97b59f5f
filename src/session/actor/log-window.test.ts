import { describe, expect, it } from "vitest";
import { EVENTS_KEPT_BYTES_MAX, EVENTS_KEPT_STRETCH_BYTES } from "../../core/limits.ts";
import { EMPTY_WINDOW, type LogWindow, readWindow, windowText, windowWith } from "./history.ts";

const MEGABYTE = 1_024 * 1_024;
const BOUNDS = { eventsMax: 1_000, bytesMax: EVENTS_KEPT_BYTES_MAX };

/** The window after snapshots that each closed ten events of these sizes. */
function closedBy(
  sizes: readonly number[],
  from: LogWindow = EMPTY_WINDOW,
  firstId = 0,
): LogWindow {
  return sizes.reduce((window, bytes, index) => {
    return windowWith(window, { lastId: firstId + (index + 1) * 10, bytes }, BOUNDS);
  }, from);
}

const weightOf = ({ stretches }: LogWindow) => stretches.reduce((sum, { bytes }) => sum + bytes, 0);

describe("P10: the raw events that a session keeps", () => {
  it("are all of them, while they are few and light", () => {
    expect(closedBy([1, 2, 3])).toEqual({ trimThrough: 0, stretches: [{ lastId: 30, bytes: 6 }] });
  });

  it("are no more than are wanted, however light they are", () => {
    const window = closedBy(Array.from({ length: 200 }, () => 1));
    expect(window.trimThrough).toBe(2_000 - BOUNDS.eventsMax);
  });

  it("weigh no more than they may, however few they are", () => {
    const turns = Array.from({ length: 5 }, () => 30 * MEGABYTE);
    // Two of them fit; the third takes the first with it, and so on.
    expect(closedBy(turns.slice(0, 2)).trimThrough).toBe(0);
    expect(closedBy(turns.slice(0, 3)).trimThrough).toBe(10);
    const window = closedBy(turns);
    expect(window.trimThrough).toBe(30);
    expect(weightOf(window)).toBe(60 * MEGABYTE);
  });

  it("are known in few numbers, also where turns are small, and to a megabyte", () => {
    const count = (3 * EVENTS_KEPT_BYTES_MAX) / 50_000;
    const sizes = Array.from({ length: Math.ceil(count) }, () => 50_000);
    const many = { ...BOUNDS, eventsMax: Number.MAX_SAFE_INTEGER };
    const window = sizes.reduce((before, bytes, index) => {
      return windowWith(before, { lastId: index + 1, bytes }, many);
    }, EMPTY_WINDOW);
    expect(window.stretches.length).toBeLessThan(130);
    expect(weightOf(window)).toBeLessThanOrEqual(EVENTS_KEPT_BYTES_MAX);
    expect(weightOf(window)).toBeGreaterThan(EVENTS_KEPT_BYTES_MAX - 2 * EVENTS_KEPT_STRETCH_BYTES);
  });

  it("are the same after a restart, and unknown if nobody can say", () => {
    const window = closedBy([30 * MEGABYTE, 30 * MEGABYTE, 30 * MEGABYTE]);
    const read = readWindow(windowText(window));
    expect(read).toEqual(window);
    expect(closedBy([30 * MEGABYTE], read, 30)).toMatchObject({ trimThrough: 20 });
    for (const text of ["", "{", "{}", "[]", "[1,2]", "[0,-1,2]", '[0,"1",2]', "[0,1.5,2]"]) {
      expect(readWindow(text)).toEqual(EMPTY_WINDOW);
    }
  });
});
