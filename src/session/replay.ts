import type { PromptId, TenantId } from "../core/id.ts";
import { PAGE_ROWS_MAX, REPLAY_YIELD_CHARS } from "../core/limits.ts";
import type { LogEvent } from "../core/replay/compact.ts";
import { eventTexts, joinedTurns, type StoredTurn, verdictTexts } from "../core/replay/stored.ts";
import {
  type LiveReplayMode,
  liveJournal,
  newestTurns,
  type ReplayEvent,
} from "../core/replay/window.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { ListFilter, Listing, SessionKey, SessionStore } from "../store/store.ts";
import type { ReplayBounds, SessionWorld } from "./world.ts";

/** What a client is shown that loads a session, and where its stream goes on from there. */
export interface SessionReplay {
  /** The finished turns, oldest first: `compactedTexts` have them as they are sent. */
  readonly turns: readonly StoredTurn[];
  /**
   * The same, and before them what says that older ones are left out: the pieces of a JSON array.
   */
  readonly compactedTexts: readonly string[];
  readonly liveJournal: readonly ReplayEvent[];
  readonly lastEventId: number;
  readonly eventEpoch: string;
  /** Whether there are finished turns before those that are shown. */
  readonly hasOlder: boolean;
}

interface ReplayOrder {
  /** The last event that streams may have. */
  readonly through: number;
  readonly mode: LiveReplayMode;
  readonly bounds: ReplayBounds;
  /** How many finished turns are wanted at most; null is as many as fit. */
  readonly turnsMax?: number | null;
}

/**
 * The finished turns, folded, as far back as they fit, and then the unfinished one nearly as it
 * happened. Everything in it is durable and at most what was published (P1): so the stream that
 * follows from `lastEventId` has neither a gap nor a repeat (P3).
 */
export async function replayOf(
  world: Pick<SessionWorld, "store" | "yield">,
  key: SessionKey,
  { through: publishedThrough, mode, bounds, turnsMax = null }: ReplayOrder,
): Promise<Result<SessionReplay>> {
  const { store } = world;
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { snapshotEventId, epoch } = record.value;
  const through = Math.min(publishedThrough, record.value.lastEventId);
  const { compactedBytesMax: maxBytes } = bounds;
  const last = Math.min(snapshotEventId, through);
  // As a rule the turns end where the snapshot does, so what follows is read beside them.
  const [past, ahead] = await Promise.all([
    storedTurns(store, key, last, { maxBytes, turnsMax }),
    eventsBetween(store, key, last, through),
  ]);
  if (!past.ok) return past;
  const { turns, lastId, hasMore } = past.value;
  const open = lastId === last ? ahead : await eventsBetween(store, key, lastId, through);
  if (!open.ok) return open;
  const { kept, cut } = newestTurns(turns, maxBytes);
  if (past.value.bytes > REPLAY_YIELD_CHARS) await world.yield();
  return ok({
    turns: kept,
    compactedTexts: joinedTurns(kept, cut),
    liveJournal: liveJournal(open.value, mode, {
      maxEvents: bounds.journalEventsMax,
      maxBytes: bounds.journalBytesMax,
    }),
    lastEventId: through,
    eventEpoch: epoch,
    hasOlder: hasMore || cut !== null,
  });
}

/**
 * Folded turns, oldest first, read backwards and no further than a replay has room for; and the
 * last event that is in them. A turn whose verdict is not published yet is not among them.
 */
async function storedTurns(
  store: SessionStore,
  key: SessionKey,
  through: number,
  { maxBytes, turnsMax }: { readonly maxBytes: number; readonly turnsMax: number | null },
): Promise<Result<PastTurns>> {
  const newestFirst: StoredTurn[] = [];
  let before = through + 1;
  let bytes = 0;
  let last: number | null = null;
  for (;;) {
    const missing = (turnsMax ?? Number.POSITIVE_INFINITY) - newestFirst.length;
    const limit = Math.min(missing, TURNS_AT_ONCE);
    const page = await store.readTurns(key, { before, limit });
    if (!page.ok) return page;
    for (const turn of page.value.rows) {
      const { text, firstId, lastId } = turn;
      const size = Buffer.byteLength(text);
      newestFirst.push({ text, bytes: size });
      bytes += size;
      before = firstId;
      last ??= lastId;
    }
    const isEnough = bytes > maxBytes || newestFirst.length === turnsMax;
    if (page.value.more && !isEnough) continue;
    const hasMore = page.value.more;
    return ok({ turns: newestFirst.reverse(), lastId: last ?? 0, hasMore, bytes });
  }
}

interface PastTurns {
  readonly turns: readonly StoredTurn[];
  readonly lastId: number;
  /** Whether there are older ones than these. */
  readonly hasMore: boolean;
  readonly bytes: number;
}

/** Most sessions are one page; larger ones are not read much further than they are shown. */
const TURNS_AT_ONCE = 250;

const MOVED = "the log moved on while it was read";

async function eventsBetween(
  store: SessionStore,
  key: SessionKey,
  from: number,
  through: number,
): Promise<Result<readonly LogEvent[]>> {
  const events: LogEvent[] = [];
  for (let after = from; after < through; ) {
    const page = await store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    // Trimmed since the turns were read: those have it by now, and the next request gets it.
    if (page.value.earliestEventId > after + 1) return fail("store_unavailable", { reason: MOVED });
    events.push(...page.value.events.filter(({ id }) => id <= through).map(eventIn));
    after = page.value.events.at(-1)?.id ?? through;
  }
  return ok(events);
}

/** What is shown of the verdicts of finished turns, and all of the open one. */
export function verdictsShown({ turns, liveJournal }: SessionReplay): readonly ReplayEvent[] {
  const texts = turns.flatMap((turn) => verdictTexts(turn));
  return [...texts.map((text) => eventIn({ text })), ...liveJournal];
}

/** The first prompt of which something is shown. */
export function firstPromptShown({ turns, liveJournal }: SessionReplay): PromptId | null {
  for (const turn of turns) {
    for (const text of eventTexts(turn)) {
      const { promptId = null } = text.includes('"promptId"') ? eventIn({ text }) : {};
      if (promptId !== null) return promptId;
    }
  }
  return liveJournal.find((event) => event.promptId !== undefined)?.promptId ?? null;
}

/** The stored sessions of a tenant, in pages; one that cannot be read is the last. */
export async function* sessionPages(
  store: SessionStore,
  tenantId: TenantId,
  filter: ListFilter = {},
): AsyncGenerator<Result<Listing>> {
  let cursor: string | null = null;
  do {
    const page = await store.list(tenantId, filter, { limit: PAGE_ROWS_MAX, cursor });
    yield page;
    cursor = page.ok ? page.value.nextCursor : null;
  } while (cursor !== null);
}

/** How many sessions are stored of a tenant, damaged or not. */
export async function countSessions(
  store: SessionStore,
  tenantId: TenantId,
): Promise<Result<number>> {
  let count = 0;
  for await (const page of sessionPages(store, tenantId)) {
    if (!page.ok) return page;
    count += page.value.sessions.length + page.value.damaged.length;
  }
  return ok(count);
}

/** What a store gives back is what we gave it, under a checksum: here a numbered event. */
export function eventIn({ text }: { readonly text: string }): LogEvent {
  return JSON.parse(text);
}

/** The same of a finished turn, which is stored as a list of them. */
export function eventsIn({ text }: { readonly text: string }): readonly LogEvent[] {
  return JSON.parse(text);
}
