import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Skipped } from "../../core/session/event.ts";
import { evolve } from "../../core/session/evolve.ts";
import { CORE_SLOT, evolveLost, readSlot, sessionFromManifest } from "../../core/session/slot.ts";
import type { Session } from "../../core/session/state.ts";
import type { JournalEntry, Opened, SessionKey } from "../../store/store.ts";
import type { OpenSession } from "../actor/actor.ts";
import { OpenHistory } from "../actor/history.ts";
import { readWindow, WINDOW_SLOT } from "../actor/log-window.ts";
import { recordOf } from "../actor/record.ts";
import type { Tally } from "../stats/tally.ts";
import { EMPTY_TALLY, readTally, TALLY_SLOT } from "../stats/tally.ts";
import { eventIn } from "../stored-log.ts";
import type { SessionWorld } from "../world.ts";

/**
 * Takes a session from the store: the state of its last snapshot and the events after it. What of
 * that cannot be read is done without, down to the manifest alone, and is named (P6); only a log
 * that has a hole is left to a person.
 */
export async function openSession(
  world: SessionWorld,
  key: SessionKey,
  audit: readonly JournalEntry[],
): Promise<Result<OpenSession>> {
  const opened = await world.store.open(key, world.holder, audit);
  if (!opened.ok) return opened;
  const read = await readSession(world, key, opened.value);
  // What cannot be read here is not kept from others, who may be able to.
  if (!read.ok) await world.store.close(key, opened.value.term);
  else await world.meter.opened(key, read.value.session);
  return read;
}

async function readSession(
  world: SessionWorld,
  key: SessionKey,
  opened: Opened,
): Promise<Result<OpenSession>> {
  const { term, record, manifest } = opened;
  const { lastEventId, revision, snapshotEventId, epoch } = record;
  const window = readWindow(slotText(opened, WINDOW_SLOT.owner) ?? "");
  const at = { manifest, revision, snapshotEventId, tally: tallyOf(opened), window };
  const history = new OpenHistory(at, world);
  const start = startOf(opened, world.settings.defaultAgent);
  let { session } = start;
  for (let after = start.after; after < lastEventId; ) {
    const page = await world.store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    const written = page.value.events.map(({ id, text }) => {
      return { id, text, event: eventIn({ text }) };
    });
    history.add(written.filter(({ id }) => id > snapshotEventId));
    for (const { event } of written) session = start.step(session, event);
    after = written.at(-1)?.id ?? lastEventId;
  }
  if (session === null) return fail("session_corrupt", { reason: "its log has no beginning" });
  const row = recordOf(session, record.updatedAtMs);
  const { skipped } = start;
  const found = { hasSnapshot: revision > 0, hasMessages: record.messageCount > 0, skipped };
  return ok({ key, term, epoch, session, lastEventId, record: row, ...found, history });
}

/** Figures that are lost begin again; nothing depends on them. */
function tallyOf(opened: Opened): Tally {
  const text = slotText(opened, TALLY_SLOT.owner);
  return (text === null ? null : readTally(text)) ?? EMPTY_TALLY;
}

function slotText({ slots }: Opened, wanted: string): string | null {
  const slot = slots.find(({ owner }) => owner === wanted);
  return slot === undefined ? null : new TextDecoder().decode(slot.payload);
}

interface Start {
  readonly session: Session | null;
  /** The last event that is in it already. */
  readonly after: number;
  readonly step: (session: Session | null, event: LogEvent) => Session | null;
  readonly skipped: readonly Skipped[];
}

/**
 * Where the log has to be read from. A session without a snapshot is all in its log; one whose
 * snapshot cannot be read is put together from the manifest and as much of the log as is left.
 */
function startOf({ slots, damagedSlots, record, manifest }: Opened, defaultAgent: string): Start {
  const damaged = damagedSlots.map((name) => ({ name, reason: "it is damaged" }));
  const { revision, snapshotEventId, earliestEventId } = record;
  if (revision === 0) return { session: null, after: 0, step: evolve, skipped: damaged };
  const slot = slots.find(({ owner }) => owner === CORE_SLOT.owner);
  const text = new TextDecoder().decode(slot?.payload);
  const read = slot === undefined ? null : readSlot(slot.version, text);
  if (read !== null) {
    return { session: read, after: snapshotEventId, step: evolve, skipped: damaged };
  }
  const lost = { name: CORE_SLOT.owner, reason: "it cannot be read; the manifest goes on" };
  const isNamed = damaged.some(({ name }) => name === CORE_SLOT.owner);
  return {
    session: sessionFromManifest(manifest, record, defaultAgent),
    after: earliestEventId - 1,
    step: (session, event) => (session === null ? null : evolveLost(session, event)),
    skipped: isNamed ? damaged : [...damaged, lost],
  };
}
