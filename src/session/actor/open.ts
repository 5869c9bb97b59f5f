import { type Refusal, refusal } from "../../core/error.ts";
import { PAGE_ROWS_MAX, UNANSWERED_EVENTS_MAX } from "../../core/limits.ts";
import type { Bound } from "../../core/policy/bound.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Actor, type Command, clientOf, SERVER } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import type { Skipped } from "../../core/session/event.ts";
import { eventIs } from "../../core/session/event-table.ts";
import { evolve } from "../../core/session/evolve.ts";
import { listedSkipped } from "../../core/session/skipped.ts";
import { CORE_SLOT, evolveLost, readSlot, sessionFromManifest } from "../../core/session/slot.ts";
import type { Creation, Session } from "../../core/session/state.ts";
import { slotOwnerOf } from "../../core/session/workflow.ts";
import type { Manifest } from "../../store/index.ts";
import type { JournalEntry, Opened, SessionKey, SessionRecord } from "../../store/store.ts";
import { OpenHistory } from "../actor/history.ts";
import type { FilesAround } from "../agent/briefing.ts";
import { auditEntries } from "../audit/entries.ts";
import { absent, ExtensionSide, type ForeignSlots } from "../extension/extension-side.ts";
import { PERSONA, SKILLS, take } from "../knowledge.ts";
import { eventIn } from "../replay.ts";
import { EMPTY_TALLY, readTally, TALLY_SLOT, type Tally } from "../stats/tally.ts";
import type { StoredWorkflowSlot } from "../workflow/workflow-run.ts";
import type { SessionWorld } from "../world.ts";
import { readWindow, WINDOW_SLOT } from "./history.ts";
import { recordOf, type Written, writeEvents, writtenAs } from "./written.ts";

/** What is known of a session when it is opened. */
export interface OpenSession {
  readonly key: SessionKey;
  readonly term: number;
  readonly epoch: string;
  readonly session: Session;
  readonly lastEventId: number;
  readonly record: SessionRecord;
  readonly hasSnapshot: boolean;
  /** Whether there is a conversation that an agent can be told of. */
  readonly hasMessages: boolean;
  /** What could not be brought back, and why. */
  readonly skipped: readonly Skipped[];
  /** What its files came to just now, if it was made just now. */
  readonly files: FilesAround | null;
  /** Its maker had no answer when its server was killed. */
  readonly isUnanswered: boolean;
  readonly history: OpenHistory;
  /** What its workflow has kept; null if there is nothing. */
  readonly workflowSlot: StoredWorkflowSlot;
  /** What it has of extensions; null where no session has any. */
  readonly extensions: ExtensionSide | null;
}

const OWN_SLOTS: ReadonlySet<string> = new Set(
  [CORE_SLOT, TALLY_SLOT, WINDOW_SLOT].map(({ owner }) => owner),
);

/** Whether the server itself owns a slot; the others are those of extensions. */
export function isOwnSlot(owner: string): boolean {
  return OWN_SLOTS.has(owner);
}

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
  const isShort = revision === 0 && lastEventId <= UNANSWERED_EVENTS_MAX;
  const log: LogEvent[] = [];
  for (let after = start.after; after < lastEventId; ) {
    const page = await world.store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    const written = page.value.events.map(({ id, text }) => {
      return { ...writtenAs(eventIn({ text }), text), id };
    });
    history.add(written.filter(({ id }) => id > snapshotEventId));
    for (const { event } of written) session = start.step(session, event);
    if (isShort) log.push(...written.map(({ event }) => event));
    after = written.at(-1)?.id ?? lastEventId;
  }
  if (session === null) return fail("session_corrupt", { reason: "its log has no beginning" });
  const row = recordOf(session, record.updatedAtMs);
  const workflowSlot = slotOfWorkflow(opened, session);
  const foreign = foreignIn(opened, session);
  const { workspaceCwd } = session.fixed;
  const about = { key, workspaceCwd, isResumed: true };
  const hasThem = world.extensions !== undefined;
  const extensions = hasThem ? new ExtensionSide(world, about, foreign) : null;
  const ownSkipped = start.skipped.filter(({ name }) => name !== ownerIn(session));
  const skipped = hasThem ? ownSkipped : [...absent(foreign), ...ownSkipped];
  const hasMessages = record.messageCount > 0;
  const isUnanswered = isShort && hasNoAnswer(log);
  const found = { hasSnapshot: revision > 0, hasMessages, skipped, extensions, isUnanswered };
  return ok({
    key,
    term,
    epoch,
    session,
    lastEventId,
    record: row,
    ...found,
    workflowSlot,
    files: null,
    history,
  });
}

/** Whether no client has an answer about this session (P1); this is its whole log. */
function hasNoAnswer(log: readonly LogEvent[]): boolean {
  // The maker is attached in the first commit, which ends with the wish for an agent.
  const firstCommitEnd = log.findIndex(({ type }) => type === "session_status");
  return !log.some((event, at) => at > firstCommitEnd && eventIs(event, "answered"));
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
function startOf(opened: Opened, defaultAgent: string): Start {
  const { slots, record, manifest } = opened;
  const damaged = skippedIn(opened);
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

/** Slots of the server's own that cannot be read, and the state machine, which is kept (P6). */
function skippedIn(opened: Opened): readonly Skipped[] {
  const own = opened.damagedSlots.filter(isOwnSlot);
  const damaged = absent({ slots: [], damaged: own });
  const { slots, damaged: lost } = foreignIn(opened);
  const machine = opened.manifest.smState?.smExtId;
  const owners = [...lost, ...slots.map(({ owner }) => owner)];
  if (machine === undefined || owners.includes(machine)) return damaged;
  const reason = "no such state machine is here; its place in the session is kept";
  return [...damaged, { name: machine, reason }];
}

/** With a session, without the slot of the workflow that is its own. */
function foreignIn({ slots, damagedSlots }: Opened, session: Session | null = null): ForeignSlots {
  const isForeign = (owner: string) => !isOwnSlot(owner) && owner !== ownerIn(session);
  return {
    slots: slots.filter(({ owner }) => isForeign(owner)),
    damaged: damagedSlots.filter(isForeign),
  };
}

function ownerIn(session: Session | null): string | null {
  return session?.workflow === undefined ? null : slotOwnerOf(session.workflow);
}

function slotOfWorkflow({ slots, damagedSlots }: Opened, session: Session): StoredWorkflowSlot {
  const owner = ownerIn(session);
  if (owner === null) return null;
  if (damagedSlots.includes(owner)) return { owner, isDamaged: true };
  return slots.find((slot) => slot.owner === owner) ?? null;
}

/** What a session is made with; its skills and persona are found where it is made. */
export type SessionCreation = Omit<Creation, "skills" | "persona">;

export interface CreationRequest {
  readonly key: SessionKey;
  readonly creation: SessionCreation;
  readonly actor: Actor;
  /** What binds its maker, where a policy does. */
  readonly bound?: Bound | undefined;
  /** The request names no autonomy: that of the tenant's settings is lowered to what is allowed. */
  readonly isUsualAutonomy?: boolean;
  /** The model that the request sets once the session exists, if it names one. */
  readonly modelId?: string | null;
  /** Whether the client that makes it is registered with it. */
  readonly registersMaker?: boolean;
}

/** With the skills and the persona that are there now. */
export async function wholeCreation(
  world: SessionWorld,
  { tenantId }: SessionKey,
  wanted: SessionCreation,
): Promise<Result<Creation>> {
  const place = { tenantId, workspaceCwd: wanted.workspaceCwd };
  const loads = [take(world, place, SKILLS), take(world, place, PERSONA)] as const;
  const [skills, persona] = await Promise.all(loads);
  if (!skills.ok) return skills;
  if (!persona.ok) return persona;
  return ok({
    ...wanted,
    skills: { version: 1, hash: skills.value.hash },
    persona: { version: 1, hash: persona.value.hash },
  });
}

/**
 * A new session with its maker, on the way to its agent, in one step: it is there whole, or not at
 * all. Its agent is asked for when it is started.
 */
export async function createSession(
  world: SessionWorld,
  request: CreationRequest,
): Promise<Result<OpenSession>> {
  const { key } = request;
  const whole = await wholeCreation(world, key, request.creation);
  if (!whole.ok) return whole;
  const extensions = await extensionsOf(world, request);
  if (!extensions.ok) return extensions;
  const made = await madeSession(world, request, whole.value, extensions.value);
  if (!made.ok) await extensions.value?.end();
  return made;
}

/** They are at work before it is there; without one that it cannot be without, it is not made. */
async function extensionsOf(
  world: SessionWorld,
  { key, creation }: CreationRequest,
): Promise<Result<ExtensionSide | null>> {
  if (world.extensions === undefined) return ok(null);
  const { workspaceCwd } = creation;
  const extensions = new ExtensionSide(world, { key, workspaceCwd, isResumed: false });
  const up = await extensions.bringUp();
  if (!up.ok) return up;
  // A session without any pays nothing for that there could be some.
  return ok(extensions.isEmpty ? null : extensions);
}

async function madeSession(
  world: SessionWorld,
  request: CreationRequest,
  creation: Creation,
  extensions: ExtensionSide | null,
): Promise<Result<OpenSession>> {
  const { key } = request;
  const { sessionId } = key;
  const atMs = world.clock.nowMs();
  const epoch = world.ids.epoch();
  const journal: JournalEntry[] = [];
  const written: Written[] = [];
  let session: Session | null = null;
  const skipped = listedSkipped(extensions?.skipped ?? []);
  for (const command of firstCommands(request, { creation, skipped }, atMs)) {
    const decision = decide(session, command);
    if (decision.kind === "refused") return { ok: false, refusal: decision.refusal };
    const firstEventId = written.length + 1;
    const audited = { sessionId, epoch, command, decision, firstEventId, revision: null };
    journal.push(...auditEntries(audited));
    written.push(...writeEvents(decision.events, firstEventId));
    session = decision.session;
  }
  if (session === null) return fail("session_not_found", { sessionId });
  const leaks = written.some(({ text }) => world.redact(text) !== text);
  if (leaks) return { ok: false, refusal: leak() };
  const storeId = world.store.contract.storeId;
  const manifest: Manifest = {
    sessionId,
    storeId,
    mode: creation.securityMode,
    projectRoot: `${creation.workspaceCwd}/.fermata`,
    createdAt: atMs,
    updatedAt: atMs,
  };
  const record = recordOf(session, atMs);
  const commit = { afterEventId: 0, events: written.map(({ text }) => text), journal };
  const { holder } = world;
  const made = await world.store.create(key, { holder, manifest, record, epoch, commit });
  if (!made.ok) {
    // The store may have another database for this tenant by now: a next try writes all anew.
    world.known.forget(key.tenantId);
    return made;
  }
  const history = new OpenHistory(
    { manifest, revision: 0, snapshotEventId: 0, tally: EMPTY_TALLY },
    world,
  );
  history.add(written);
  const { term } = made.value;
  const lastEventId = written.length;
  const files = { skills: creation.skills.hash, persona: creation.persona.hash };
  const fresh = { hasSnapshot: false, hasMessages: false, skipped: [], files, extensions };
  return ok({
    key,
    term,
    epoch,
    session,
    lastEventId,
    record,
    ...fresh,
    workflowSlot: null,
    history,
    isUnanswered: false,
  });
}

/** All that is decided of a new session before a client can know of it. */
function firstCommands(
  { key, actor, bound, registersMaker = false }: CreationRequest,
  made: { readonly creation: Creation; readonly skipped: readonly Skipped[] },
  atMs: number,
): readonly Command[] {
  const { sessionId } = key;
  const by = { atMs, actor, ...(bound && { bound }) };
  const clientId = registersMaker ? clientOf(actor) : null;
  return [
    { ...by, type: "create", sessionId, ...made },
    ...(clientId === null ? [] : [{ ...by, type: "attach" as const, clientId, idle: [] }]),
    { atMs, actor: SERVER, type: "activate", skipped: [] },
  ];
}

/** A session is not made with a secret in its name or its settings. */
function leak(): Refusal {
  return refusal("secret_leak", { paths: "creation" });
}
