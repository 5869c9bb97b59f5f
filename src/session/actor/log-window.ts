import { EVENTS_KEPT_STRETCH_BYTES } from "../../core/limits.ts";

/** Raw events that follow each other: the last one, and what they weigh together. */
interface Stretch {
  readonly lastId: number;
  readonly bytes: number;
}

/** Which raw events are kept for exact reconnects, as far as is known, and which may go. */
export interface LogWindow {
  /** Those up to here are not needed any more. */
  readonly trimThrough: number;
  /** Those behind it, oldest first. */
  readonly stretches: readonly Stretch[];
}

export interface WindowBounds {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** Where a window is kept: a slot of its own, so that it is known after a restart too. */
export const WINDOW_SLOT = { owner: "fermata.window", version: "1" } as const;

export const EMPTY_WINDOW: LogWindow = { trimThrough: 0, stretches: [] };

/** The window when another snapshot closes what has come since the one before. */
export function windowWith(
  { trimThrough, stretches }: LogWindow,
  newest: Stretch,
  { eventsMax, bytesMax }: WindowBounds,
): LogWindow {
  const all = joined(stretches, newest);
  const through = Math.max(trimThrough, newest.lastId - eventsMax, tooHeavyThrough(all, bytesMax));
  return { trimThrough: through, stretches: all.filter(({ lastId }) => lastId > through) };
}

/** Small stretches become one, so that there are never many of them. */
function joined(stretches: readonly Stretch[], { lastId, bytes }: Stretch): readonly Stretch[] {
  const last = stretches.at(-1);
  if (last === undefined || last.bytes + bytes > EVENTS_KEPT_STRETCH_BYTES) {
    return [...stretches, { lastId, bytes }];
  }
  return [...stretches.slice(0, -1), { lastId, bytes: last.bytes + bytes }];
}

/** The last event of the newest stretch that does not fit any more. */
function tooHeavyThrough(stretches: readonly Stretch[], bytesMax: number): number {
  let bytes = 0;
  for (const stretch of stretches.toReversed()) {
    bytes += stretch.bytes;
    if (bytes > bytesMax) return stretch.lastId;
  }
  return 0;
}

export function windowText({ trimThrough, stretches }: LogWindow): string {
  return JSON.stringify([
    trimThrough,
    ...stretches.flatMap(({ lastId, bytes }) => [lastId, bytes]),
  ]);
}

/** The window that a stored text holds. What cannot be read is not known, and bounds nothing. */
export function readWindow(text: string): LogWindow {
  const [trimThrough, ...pairs] = figuresIn(text) ?? [];
  if (trimThrough === undefined || pairs.length % 2 !== 0) return EMPTY_WINDOW;
  const stretches = pairs.flatMap((bytes, index) => {
    const lastId = pairs[index - 1];
    return index % 2 === 1 && lastId !== undefined ? [{ lastId, bytes }] : [];
  });
  return { trimThrough, stretches };
}

function figuresIn(text: string): readonly number[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isFigure) ? value : null;
  } catch {
    return null;
  }
}

function isFigure(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
