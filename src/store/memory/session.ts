import type { SessionId } from "../../core/id.ts";
import { type Position, trimmedThrough } from "../check.ts";
import type { Holder } from "../holder.ts";
import type { Manifest } from "../manifest.ts";
import { pageOf } from "../page.ts";
import type * as S from "../store.ts";

/** One stored session, in memory. Whatever could be changed is copied on its way in and out. */
export class MemorySession {
  readonly #sessionId: SessionId;
  #epoch: string;
  #term = 0;
  #holder: Holder | null = null;
  #manifest: Manifest;
  #record: S.SessionRecord;
  #revision = 0;
  #snapshotEventId = 0;
  #trimmedThrough = 0;
  #events: S.StoredText[] = [];
  readonly #turns: S.FoldedTurn[] = [];
  readonly #messages: string[] = [];
  readonly #slots = new Map<string, S.Slot>();

  constructor(sessionId: SessionId, { holder, manifest, record, epoch }: S.NewSession, term = 1) {
    this.#sessionId = sessionId;
    this.#epoch = epoch;
    this.#manifest = structuredClone(manifest);
    this.#record = structuredClone(record);
    this.own(holder, term);
  }

  get term(): number {
    return this.#term;
  }

  get holder(): Holder | null {
    return this.#holder;
  }

  get manifest(): Manifest {
    return structuredClone(this.#manifest);
  }

  get position(): Position {
    const lastEventId = this.#trimmedThrough + this.#events.length;
    return {
      lastEventId,
      snapshotEventId: this.#snapshotEventId,
      revision: this.#revision,
      slotBytes: new Map([...this.#slots].map(([owner, { payload }]) => [owner, payload.length])),
      manifest: this.#manifest,
    };
  }

  get record(): S.StoredRecord {
    return structuredClone({
      ...this.#record,
      sessionId: this.#sessionId,
      epoch: this.#epoch,
      term: this.#term,
      revision: this.#revision,
      lastEventId: this.position.lastEventId,
      snapshotEventId: this.#snapshotEventId,
      earliestEventId: this.#trimmedThrough + 1,
      messageCount: this.#messages.length,
      turnCount: this.#turns.length,
      createdAtMs: this.#manifest.createdAt,
      holder: this.#holder,
    });
  }

  own(holder: Holder, term = this.#term + 1) {
    this.#term = term;
    this.#holder = { ...holder };
  }

  release() {
    this.#holder = null;
  }

  cutLog({ lastEventId, epoch }: S.LogCut) {
    this.#events = this.#events.filter(({ id }) => id <= lastEventId);
    this.#epoch = epoch;
  }

  apply({ afterEventId, events, record, snapshot }: S.Commit) {
    for (const [index, text] of events.entries()) {
      this.#events.push({ id: afterEventId + index + 1, text });
    }
    if (record !== undefined) this.#record = structuredClone(record);
    if (snapshot === undefined) return;
    const { manifest, messages, slots, removedSlots, turn } = snapshot;
    this.#revision += 1;
    this.#manifest = structuredClone(manifest);
    for (const text of messages) this.#messages.push(text);
    for (const slot of slots) this.#slots.set(slot.owner, copy(slot));
    for (const owner of removedSlots) this.#slots.delete(owner);
    if (turn !== undefined) this.#turns.push({ ...turn });
    this.#snapshotEventId = this.position.lastEventId;
    const through = Math.max(this.#trimmedThrough, trimmedThrough(snapshot, this.#snapshotEventId));
    this.#events = this.#events.filter(({ id }) => id > through);
    this.#trimmedThrough = through;
  }

  readEvents({ after, limit }: S.Range): S.EventPage {
    const from = Math.max(0, after - this.#trimmedThrough);
    return {
      events: pageOf(this.#events.slice(from), limit).rows,
      epoch: this.#epoch,
      earliestEventId: this.#trimmedThrough + 1,
      lastEventId: this.position.lastEventId,
    };
  }

  readTurns({ before, limit }: S.BackwardRange): S.Page<S.FoldedTurn> {
    const older = this.#turns.filter(({ lastId }) => lastId < before);
    return pageOf(older.reverse(), limit);
  }

  readMessages({ after, limit }: S.Range): S.Page<S.StoredText> {
    const later = this.#messages.slice(after);
    return pageOf(
      later.map((text, index) => ({ id: after + index + 1, text })),
      limit,
    );
  }

  readSlots(): S.SlotSet {
    return { slots: [...this.#slots.values()].map(copy), damagedSlots: [] };
  }
}

function copy({ owner, version, payload }: S.Slot): S.Slot {
  return { owner, version, payload: Uint8Array.from(payload) };
}
