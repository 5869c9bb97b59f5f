import { TRANSCRIPT_PAGE_BYTES_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store/store.ts";

type TurnStore = Pick<SessionStore, "readTurns">;

/** Some turns in the order in which they happened, or the one that is too large for any page. */
export interface TurnPage {
  readonly turns: readonly FoldedTurn[];
  readonly tooLarge: FoldedTurn | null;
  /** Whether there are more in the direction of reading. */
  readonly more: boolean;
}

/** The newest turns that ended before this event, as many as fit. */
export async function turnsBefore(
  store: TurnStore,
  key: SessionKey,
  end: number,
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new Page(limit);
  let before = end;
  for (;;) {
    const read = await store.readTurns(key, { before, limit: page.room });
    if (!read.ok) return read;
    const { rows, more } = read.value;
    for (const turn of rows) {
      if (!page.take(turn)) return ok(page.newestFirst(true));
      before = turn.firstId;
    }
    if (!more) return ok(page.newestFirst(false));
    if (page.room === 0) return ok(page.newestFirst(true));
  }
}

/**
 * The oldest turns after one event and up to another, as many as fit. Stores give turns newest
 * first, so they are looked for in a window of the log: it grows while it is empty, and shrinks
 * while it has more than can be read at once.
 */
export async function turnsAfter(
  store: TurnStore,
  key: SessionKey,
  { after, through }: { readonly after: number; readonly through: number },
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new Page(limit);
  let place = after;
  let span = limit * EVENTS_OF_A_TURN;
  while (place < through) {
    if (page.room === 0) return ok(page.oldestFirst(true));
    const end = Math.min(through, place + span);
    const read = await store.readTurns(key, { before: end + 1, limit: page.room + 1 });
    if (!read.ok) return read;
    const turns = read.value.rows.filter(({ lastId }) => lastId > place).toReversed();
    const isWhole = turns.length < read.value.rows.length || !read.value.more;
    const reachesBack = isWhole || (turns[0]?.firstId ?? 0) <= place + 1;
    if (!reachesBack && span > 1) {
      span = Math.floor(span / 2);
      continue;
    }
    for (const turn of turns) if (!page.take(turn)) return ok(page.oldestFirst(true));
    if (turns.length === 0) span *= 2;
    place = turns.at(-1)?.lastId ?? end;
  }
  return ok(page.oldestFirst(false));
}

/** A first guess at how long turns are; the window mends it. */
const EVENTS_OF_A_TURN = 16;

/** What fits, in the order in which it came. */
class Page {
  readonly #limit: number;
  readonly #turns: FoldedTurn[] = [];
  #tooLarge: FoldedTurn | null = null;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get room(): number {
    return this.#limit - this.#turns.length;
  }

  take(turn: FoldedTurn): boolean {
    if (this.room === 0) return false;
    this.#bytes += Buffer.byteLength(turn.text);
    const fits = this.#bytes <= TRANSCRIPT_PAGE_BYTES_MAX;
    if (fits) this.#turns.push(turn);
    else if (this.#turns.length === 0) this.#tooLarge = turn;
    return fits;
  }

  oldestFirst(more: boolean): TurnPage {
    return { turns: this.#turns, tooLarge: this.#tooLarge, more };
  }

  newestFirst(more: boolean): TurnPage {
    return { ...this.oldestFirst(more), turns: this.#turns.toReversed() };
  }
}
