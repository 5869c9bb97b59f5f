import { excerptOf } from "../../core/search/excerpt.ts";
import { isBeginningOf } from "../../core/search/message.ts";
import type { FoundRows, SearchPosition, SearchRange, SearchTerms } from "../search.ts";
import type { MemorySession } from "./tenant.ts";

type PlacedHit = FoundRows["hits"][number];

/**
 * A search without an index: everything is read. A position is a time, and of what has the same
 * time how much was found before.
 */
export function foundIn(
  sessions: readonly MemorySession[],
  { sought }: SearchTerms,
  { limit, after }: SearchRange,
): FoundRows {
  const all: Omit<PlacedHit, "position">[] = [];
  for (const session of sessions) {
    const { record } = session;
    const messages = [...session.searched()];
    for (const [messageId, { role, text, turnId, atMs }] of messages) {
      const excerpt = excerptOf(text, sought);
      const [, first] = messages.find(([id]) => id === 1) ?? [];
      const isTwice = role === "title" && first !== undefined && isBeginningOf(text, first.text);
      if (excerpt === null || isTwice) continue;
      all.push({ session: record, role, messageId, turnId, atMs, excerpt });
    }
  }
  const hits = placed(all.toSorted((a, b) => b.atMs - a.atMs));
  const later = hits.filter(({ position }) => after === null || isAfter(position, after));
  const last = later.length > limit ? later[limit - 1] : undefined;
  return {
    hits: later.slice(0, limit),
    continuesAfter: last?.position ?? null,
    isIndexing: false,
  };
}

function placed(hits: readonly Omit<PlacedHit, "position">[]): readonly PlacedHit[] {
  const counts = new Map<number, number>();
  return hits.map((hit) => {
    const count = counts.get(hit.atMs) ?? 0;
    counts.set(hit.atMs, count + 1);
    return { ...hit, position: [hit.atMs, count] };
  });
}

function isAfter([atMs, count]: SearchPosition, [ms, number]: SearchPosition): boolean {
  return atMs < ms || (atMs === ms && count > number);
}
