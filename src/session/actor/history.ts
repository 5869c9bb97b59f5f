import { EVENTS_KEPT_MAX, HISTORY_OPEN_EVENTS_MAX, TURN_BYTES_MAX } from "../../core/limits.ts";
import { compact, compactSegment } from "../../core/replay/compact.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import { CORE_SLOT, writeSlot } from "../../core/session/slot.ts";
import type { Session } from "../../core/session/state.ts";
import type { Manifest, Snapshot } from "../../store/index.ts";
import { messageText, type TurnPrompt, turnMessages } from "../conversation/index.ts";
import { TALLY_SLOT, type Tally, tallyText, withEvents } from "../stats/index.ts";
import type { Written } from "./written.ts";

/**
 * What has happened since the last snapshot: all that the next one folds, and all that a restart
 * has to read. So it is bounded: a turn by its bytes, and everything between turns by a snapshot
 * of its own.
 */
export class OpenHistory {
  readonly #redact: (text: string) => string;
  #manifest: Manifest;
  #revision: number;
  #snapshotEventId: number;
  #events: LogEvent[] = [];
  #bytes = 0;
  /** What was counted up to the last snapshot. */
  #tally: Tally;

  constructor(
    at: {
      readonly manifest: Manifest;
      readonly revision: number;
      readonly snapshotEventId: number;
      readonly tally: Tally;
    },
    redact: (text: string) => string,
  ) {
    this.#manifest = at.manifest;
    this.#revision = at.revision;
    this.#snapshotEventId = at.snapshotEventId;
    this.#redact = redact;
    this.#tally = at.tally;
  }

  /** All that was counted, up to now. */
  get tally(): Tally {
    return withEvents(this.#tally, this.#events);
  }

  add(written: readonly Written[]) {
    for (const { event, text } of written) {
      this.#events.push(event);
      this.#bytes += text.length;
    }
  }

  /** A turn that says more than this is told to stop. */
  get isTooLarge(): boolean {
    return this.#bytes > TURN_BYTES_MAX;
  }

  /** Between turns: what has come together is worth a snapshot of its own. */
  get isLong(): boolean {
    return this.#events.length > HISTORY_OPEN_EVENTS_MAX;
  }

  /**
   * The snapshot that closes what is open, with these as its last events. The prompt is that of the
   * turn that ends by it, which may have been admitted long before the turn began.
   */
  snapshotWith(
    session: Session,
    last: readonly Written[],
    prompt: TurnPrompt | null,
    atMs: number,
  ): Snapshot {
    const events = [...this.#events, ...last.map(({ event }) => event)];
    const lastId = events.at(-1)?.id ?? this.#snapshotEventId;
    const turn = {
      firstId: this.#snapshotEventId + 1,
      lastId,
      text: this.#redact(JSON.stringify(folded(events))),
    };
    const core = { ...CORE_SLOT, payload: encode(writeSlot(session)) };
    const stats = { ...TALLY_SLOT, payload: encode(tallyText(withEvents(this.#tally, events))) };
    const messages = prompt === null ? [] : turnMessages(events, prompt);
    return {
      expectedRevision: this.#revision,
      manifest: { ...this.#manifest, updatedAt: atMs },
      messages: messages.map((message) => this.#redact(messageText(message))),
      slots: [core, stats],
      removedSlots: [],
      ...(events.length > 0 && { turn }),
      // Whoever comes back within this many events continues exactly where it was.
      trimThrough: Math.max(0, lastId - EVENTS_KEPT_MAX),
    };
  }

  /** This snapshot is on its way, and the next one begins after it. */
  close(snapshot: Snapshot) {
    this.#manifest = snapshot.manifest;
    this.#tally = this.tally;
    this.#revision += 1;
    this.#snapshotEventId = snapshot.turn?.lastId ?? this.#snapshotEventId;
    this.#events = [];
    this.#bytes = 0;
  }
}

/** Turn by turn; what no verdict has closed is folded too, since its raw events may go one day. */
function folded(events: readonly LogEvent[]): readonly LogEvent[] {
  const { segments, open } = compact(events);
  return [...segments.flat(), ...compactSegment(open)];
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
