import type { LogEvent } from "../src/core/replay/compact.ts";
import type { Holder } from "../src/store/holder.ts";
import type { SessionKey, SessionStore } from "../src/store/store.ts";
import { value } from "./store-world.ts";

const COMMITS_AT_ONCE = 100;

/** One turn of a real session, to be had again under later numbers. */
interface Pattern {
  readonly events: readonly LogEvent[];
  readonly folded: readonly LogEvent[];
  readonly messages: readonly string[];
}

/**
 * Gives a session that no server has open so many more turns, as its last one was: through the
 * store, because that is a hundred times as fast as having them.
 */
export async function addTurns(
  { store, holder }: { readonly store: SessionStore; readonly holder: Holder },
  key: SessionKey,
  turns: number,
): Promise<void> {
  const { events, folded, messages } = await patternOf(store, key);
  const { term, record, manifest } = value(await store.open(key, holder, []));
  const firstOld = events[0]?.id ?? 1;
  let { lastEventId: last, revision, snapshotEventId } = record;
  const commitNext = () => {
    const by = last + 1 - firstOld;
    const afterEventId = last;
    last += events.length;
    const snapshot = {
      expectedRevision: revision,
      manifest,
      messages,
      slots: [],
      removedSlots: [],
      turn: { firstId: snapshotEventId + 1, lastId: last, text: textOf(shifted(folded, by)) },
      trimThrough: Math.max(0, last - 8_000),
    };
    revision += 1;
    snapshotEventId = last;
    const texts = shifted(events, by).map(textOf);
    return store.commit(key, term, { afterEventId, events: texts, journal: [], snapshot });
  };
  for (let done = 0; done < turns; done += COMMITS_AT_ONCE) {
    const count = Math.min(COMMITS_AT_ONCE, turns - done);
    for (const one of await Promise.all(Array.from({ length: count }, commitNext))) value(one);
  }
  value(await store.close(key, term));
}

async function patternOf(store: SessionStore, key: SessionKey): Promise<Pattern> {
  const before = Number.MAX_SAFE_INTEGER;
  const { rows } = value(await store.readTurns(key, { before, limit: 1 }));
  const [last] = rows;
  if (last === undefined) throw new Error("there is no turn");
  const after = last.firstId - 1;
  const limit = last.lastId - after;
  const { events } = value(await store.readEvents(key, { after, limit }));
  // Those of the same turn: a branch ends with the turn of the last message.
  const { messageCount } = value(await store.readRecord(key));
  const messages = value(await store.readMessages(key, { after: messageCount - 2, limit: 2 })).rows;
  return {
    events: events.map(({ text }) => JSON.parse(text)),
    folded: JSON.parse(last.text),
    messages: messages.map(({ text }) => text),
  };
}

function shifted(events: readonly LogEvent[], by: number): readonly LogEvent[] {
  return events.map((event) => ({ ...event, id: event.id + by }));
}

function textOf(written: unknown): string {
  return JSON.stringify(written);
}
