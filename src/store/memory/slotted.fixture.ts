import { fail, ok, type Result } from "../../core/result.ts";
import { replaced } from "../kit/broken/altered.ts";
import type { Commit, SessionStore, Slot, SlotSet } from "../store.ts";
import { memoryStore } from "./store.ts";

const OWN_SLOT = "memory.own";

/**
 * A memory store of the other kind: it keeps a slot of its own and takes events only with a
 * snapshot. What the kit asks only of such stores would else be asked of none.
 */
export function slottedStore(): SessionStore {
  const store = claimedSlotted();
  return replaced(store, {
    async create(key, session) {
      const commit = completed(session.commit);
      return commit.ok ? store.create(key, { ...session, commit: commit.value }) : commit;
    },
    async commit(key, term, commit) {
      const whole = completed(commit);
      return whole.ok ? store.commit(key, term, whole.value) : whole;
    },
    async open(key, holder, audit) {
      const opened = await store.open(key, holder, audit);
      return opened.ok ? ok({ ...opened.value, ...ownFirst(opened.value) }) : opened;
    },
    async readSlots(key) {
      const read = await store.readSlots(key);
      return read.ok ? ok(ownFirst(read.value)) : read;
    },
  });
}

/** One that says that it is of that kind, and is not. */
export function claimedSlotted(): SessionStore {
  const store = memoryStore();
  const capabilities = { ...store.contract.capabilities, journaling: false };
  return replaced(store, {
    contract: { ...store.contract, stateSlot: OWN_SLOT, capabilities },
  });
}

function completed(commit: Commit): Result<Commit> {
  const { events, snapshot } = commit;
  if (snapshot !== undefined) {
    const own: Slot = { owner: OWN_SLOT, version: "1", payload: Uint8Array.of(1) };
    return ok({ ...commit, snapshot: { ...snapshot, slots: [own, ...snapshot.slots] } });
  }
  if (events.length === 0) return ok(commit);
  const reason = "this store takes events only with a snapshot";
  return fail("invalid_store_input", { path: "events", reason });
}

function ownFirst({ slots, damagedSlots }: SlotSet): SlotSet {
  const isOwn = ({ owner }: Slot) => owner === OWN_SLOT;
  const others = slots.filter((slot) => !isOwn(slot));
  return { slots: [...slots.filter(isOwn), ...others], damagedSlots };
}
