import {
  COMMIT_YIELD_CHARS,
  EVENTS_KEPT_BYTES_MAX,
  EVENTS_KEPT_STRETCH_BYTES,
  HISTORY_OPEN_BYTES_MAX,
  HISTORY_OPEN_EVENTS_MAX,
  TURN_EVENT_BYTES,
  TURN_LARGE_BYTES,
} from "../../core/limits.ts";
import { compact, compactSegment, type LogEvent } from "../../core/replay/compact.ts";
import { OpenLog } from "../../core/replay/open-log.ts";
import { CORE_SLOT, writeSlot } from "../../core/session/slot.ts";
import type { Session } from "../../core/session/state.ts";
import { isAttached, slotOwnerOf } from "../../core/session/workflow.ts";
import type { Manifest, Snapshot } from "../../store/index.ts";
import { messageText } from "../conversation/message.ts";
import { type TurnPrompt, turnMessages } from "../conversation/turn-messages.ts";
import { NO_CHANGES, type SlotChanges } from "../participant.ts";
import type { Tally } from "../stats/tally.ts";
import { TALLY_SLOT, tallyText, withEvents } from "../stats/tally.ts";
import type { SessionWorld } from "../world.ts";
import type { Written } from "./written.ts";

/**
 * What has happened since the last snapshot: all that the next one folds, and all that a restart
 * has to read. So it is bounded: a turn by its bytes, and everything between turns by a snapshot
 * of its own.
 */
export class OpenHistory {
  readonly #redact: (text: string) => string;
  readonly #kept: WindowBounds;
  readonly #turnBytesMax: number;
  #manifest: Manifest;
  #revision: number;
  #snapshotEventId: number;
  #log = new OpenLog();
  /** How many events there are, and what they weigh. */
  #count = 0;
  #bytes = 0;
  /** What of them is in memory. */
  #heldBytes = 0;
  /** What had been said before the turn at work began. */
  #bytesBefore = 0;
  #hasRedacted = false;
  /** What was counted up to the last snapshot. */
  #tally: Tally;
  /** Which raw events were kept when it was made. */
  #window: LogWindow;

  constructor(
    at: {
      readonly manifest: Manifest;
      readonly revision: number;
      readonly snapshotEventId: number;
      readonly tally: Tally;
      readonly window?: LogWindow;
    },
    { redact, settings }: Pick<SessionWorld, "redact" | "settings">,
  ) {
    this.#manifest = at.manifest;
    this.#revision = at.revision;
    this.#snapshotEventId = at.snapshotEventId;
    this.#redact = redact;
    this.#kept = { eventsMax: settings.eventsKeptMax, bytesMax: EVENTS_KEPT_BYTES_MAX };
    this.#turnBytesMax = settings.turnMemory.eachBytesMax;
    this.#tally = at.tally;
    this.#window = at.window ?? EMPTY_WINDOW;
  }

  /** All that was counted, up to now. */
  get tally(): Tally {
    return withEvents(this.#tally, this.#log.events);
  }

  add(written: readonly Written[]) {
    for (const { event, bytes } of written) {
      if (isTurnStart(event)) this.#bytesBefore = this.#bytes;
      const isJoined = this.#log.add(event);
      this.#count += 1;
      this.#bytes += bytes;
      this.#heldBytes += isJoined ? bytes : bytes + TURN_EVENT_BYTES;
    }
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Folding it takes several times its memory. */
  get isLarge(): boolean {
    return this.#heldBytes > TURN_LARGE_BYTES;
  }

  /**
   * Gives back the memory of the turn at work, which fails: its log has it, and the snapshot tells
   * only what comes after this.
   */
  shed() {
    this.#tally = this.tally;
    this.#log = new OpenLog();
    this.#count = 0;
    this.#heldBytes = 0;
  }

  /** A turn that says more than this is told to stop. */
  get isTooLarge(): boolean {
    return this.#bytes - this.#bytesBefore > this.#turnBytesMax;
  }

  /** Between turns: what has come together is worth a snapshot of its own. */
  get isLong(): boolean {
    return this.#count > HISTORY_OPEN_EVENTS_MAX || this.#bytes > HISTORY_OPEN_BYTES_MAX;
  }

  /**
   * The snapshot that closes what is open, with these as its last events. The prompt is that of the
   * turn that ends by it, which may have been admitted long before the turn began. If the whole of
   * it cannot be stored, only how it ended is told again later: the rest is in the log while that
   * has it.
   */
  snapshotWith(content: SnapshotContent): Snapshot {
    const steps = this.#snapshotSteps(content);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  /** The same, each long step of it in a turn of the event loop of its own (P10). */
  async snapshotInTurns(
    content: SnapshotContent,
    world: Pick<SessionWorld, "yield">,
  ): Promise<Snapshot> {
    const steps = this.#snapshotSteps(content);
    for (;;) {
      await world.yield();
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  *#snapshotSteps(content: SnapshotContent): SnapshotSteps {
    const { session, last, prompt, isWhole, more = NO_CHANGES, atMs } = content;
    const ends = last.map(({ event }) => event);
    const events = [...this.#log.events, ...ends];
    const lastId = events.at(-1)?.id ?? this.#snapshotEventId;
    const fold = folded(isWhole ? events : ends);
    const texts = yield* textsOf(fold, JSON.stringify);
    const turn = {
      firstId: this.#snapshotEventId + 1,
      lastId,
      text: this.#clean(`[${texts.join(",")}]`),
    };
    yield;
    const messages = prompt === null || !isWhole ? [] : turnMessages(fold, prompt);
    const messageTexts = yield* textsOf(messages, (one) => this.#clean(messageText(one)));
    // A name that has become a secret since must not keep the session from being remembered.
    const core = { ...CORE_SLOT, payload: encode(this.#redact(writeSlot(session))) };
    const stats = { ...TALLY_SLOT, payload: encode(tallyText(withEvents(this.#tally, events))) };
    const bytes = last.reduce((sum, one) => sum + one.bytes, this.#bytes);
    const window = windowWith(this.#window, { lastId, bytes }, this.#kept);
    return {
      expectedRevision: this.#revision,
      manifest: { ...manifestWith(this.#manifest, session), updatedAt: atMs },
      messages: messageTexts,
      slots: [core, stats, { ...WINDOW_SLOT, payload: encode(windowText(window)) }, ...more.slots],
      removedSlots: more.removed,
      ...(events.length > 0 && { turn }),
      // A client that comes back within this window continues exactly where it was.
      trimThrough: window.trimThrough,
    };
  }

  /** Whether the last snapshot lost a secret that its events do not show: it came in pieces. */
  get hasRedacted(): boolean {
    return this.#hasRedacted;
  }

  #clean(text: string): string {
    const clean = this.#redact(text);
    if (clean !== text) this.#hasRedacted = true;
    return clean;
  }

  /** This snapshot is on its way, and the next one begins after it. */
  close(snapshot: Snapshot) {
    this.#manifest = snapshot.manifest;
    this.#tally = this.tally;
    this.#revision += 1;
    this.#snapshotEventId = snapshot.turn?.lastId ?? this.#snapshotEventId;
    const closed = { lastId: this.#snapshotEventId, bytes: this.#bytes };
    this.#window = windowWith(this.#window, closed, this.#kept);
    this.#log = new OpenLog();
    this.#count = 0;
    this.#heldBytes = 0;
    this.#bytes = 0;
    this.#bytesBefore = 0;
    this.#hasRedacted = false;
  }
}

/** It points to the slot of the session's workflow; one that is not known here stays (P6). */
function manifestWith(manifest: Manifest, { workflow }: Session): Manifest {
  if (workflow === undefined) return manifest;
  const { smState: _, ...rest } = manifest;
  if (!isAttached(workflow)) return rest;
  const owner = slotOwnerOf(workflow);
  return { ...rest, smState: { smExtId: owner, stateSlotRef: owner } };
}

/** A snapshot in the making. */
type SnapshotSteps = Generator<undefined, Snapshot, undefined>;

/** A step for each large text, or for some that are large together. */
function* textsOf<Value>(
  values: readonly Value[],
  textOf: (value: Value) => string,
): Generator<undefined, readonly string[], undefined> {
  const texts: string[] = [];
  let chars = 0;
  for (const value of values) {
    const text = textOf(value);
    texts.push(text);
    chars += text.length;
    if (chars <= COMMIT_YIELD_CHARS) continue;
    chars = 0;
    yield;
  }
  return texts;
}

export interface SnapshotContent {
  readonly session: Session;
  /** The events that it is written with. */
  readonly last: readonly Written[];
  readonly prompt: TurnPrompt | null;
  readonly isWhole: boolean;
  /** Of the slots that are not the server's own. */
  readonly more?: SlotChanges;
  readonly atMs: number;
}

function isTurnStart(event: LogEvent): boolean {
  return event.type === "session_lifecycle" && event.data.event === "SessionTurnStart";
}

/** Turn by turn; what no verdict has closed is folded too, since its raw events may go one day. */
function folded(events: readonly LogEvent[]): readonly LogEvent[] {
  const { segments, open } = compact(events);
  return [...segments.flat(), ...compactSegment(open)];
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** About what the store will find it to weigh. */
export function weightOf({ messages, slots, turn }: Snapshot): number {
  const texts = messages.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const bytes = slots.reduce((sum, { payload }) => sum + payload.byteLength, texts);
  return bytes + Buffer.byteLength(turn?.text ?? "");
}

/** Raw events that follow each other: the last one, and what they weigh together. */
interface KeptStretch {
  readonly lastId: number;
  readonly bytes: number;
}

/** Which raw events are kept for exact reconnects, as far as is known, and which may go. */
export interface LogWindow {
  /** Those up to here are not needed any more. */
  readonly trimThrough: number;
  /** Those behind it, oldest first. */
  readonly stretches: readonly KeptStretch[];
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
  newest: KeptStretch,
  { eventsMax, bytesMax }: WindowBounds,
): LogWindow {
  const all = joined(stretches, newest);
  const through = Math.max(trimThrough, newest.lastId - eventsMax, tooHeavyThrough(all, bytesMax));
  return { trimThrough: through, stretches: all.filter(({ lastId }) => lastId > through) };
}

/** Small stretches become one, so that there are never many of them. */
function joined(
  stretches: readonly KeptStretch[],
  { lastId, bytes }: KeptStretch,
): readonly KeptStretch[] {
  const last = stretches.at(-1);
  if (last === undefined || last.bytes + bytes > EVENTS_KEPT_STRETCH_BYTES) {
    return [...stretches, { lastId, bytes }];
  }
  return [...stretches.slice(0, -1), { lastId, bytes: last.bytes + bytes }];
}

/** The last event of the newest stretch that does not fit any more. */
function tooHeavyThrough(stretches: readonly KeptStretch[], bytesMax: number): number {
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
