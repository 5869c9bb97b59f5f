import type { AgentSession } from "../../agent/agent.ts";
import { promptText } from "../../core/agent-update.ts";
import type { PromptId, SessionId, TenantId, TurnId } from "../../core/id.ts";
import { DISPLAY_NAME_CHARS_MAX, FORK_NAMES_MAX, PAGE_ROWS_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { type Actor, originatorOf, SERVER, userOf } from "../../core/session/command.ts";
import type { Creation, Session } from "../../core/session/state.ts";
import { nameOf } from "../../core/session/title.ts";
import { isSeenByOthers, sharingOf } from "../../core/session/visibility.ts";
import { isWorkflowSlot } from "../../core/session/workflow.ts";
import { cutText } from "../../core/text.ts";
import type {
  FoldedTurn,
  ListFilter,
  Manifest,
  SessionKey,
  SessionStore,
  StoredRecord,
} from "../../store/store.ts";
import { isOwnSlot } from "../actor/open.ts";
import { type ConversationMessage, readMessage } from "../conversation/message.ts";
import type { LiveSession } from "../live.ts";
import { eventsIn } from "../replay.ts";
import { boundCreation } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { ForkDraft, type Past } from "./fork-draft.ts";

export interface ForkOptions {
  readonly actor: Actor;
  /** The completed turn that the new session goes on from; null is the last one. */
  readonly turnId: TurnId | null;
  /** Null is the name of the old one, with a word behind it. */
  readonly name: string | null;
  /** The sessions among which that name is to be free: those that its maker sees. */
  readonly among?: ListFilter;
  /** The old session's agent, where it is there: it may be able to copy what it knows. */
  readonly agent: AgentSession | null;
}

export interface Forked {
  readonly key: SessionKey;
  readonly displayName: string;
  readonly forkedFrom: { readonly sessionId: SessionId; readonly displayName: string };
}

/**
 * Makes a session whose conversation is that of another one up to a completed turn, with a log,
 * an epoch and a life of its own. It is there whole or not at all. The old one announces it to
 * those who see both.
 * It is inactive until a client opens it; then its agent remembers the conversation, or receives
 * it. Returns null if the old one's conversation has no such turn.
 */
export async function forkSession(
  world: SessionWorld,
  source: LiveSession,
  options: ForkOptions,
): Promise<Result<Forked | null>> {
  const { store } = world;
  const record = await store.readRecord(source.key);
  if (!record.ok) return record;
  const { messageCount, lastEventId, epoch } = record.value;
  const point = await forkPoint(store, source.key, record.value, options.turnId);
  if (!point.ok) return point;
  if (point.value === null) return ok(null);
  const { messages, throughEventId } = point.value;
  const isLast = messages === messageCount;
  const agentSessionId = isLast ? await agentCopy(source, options.agent, lastEventId) : null;
  const names = await namesOf(world, source, options);
  if (!names.ok) return names;
  const key = { tenantId: source.key.tenantId, sessionId: world.ids.session() };
  const forked = { key, ...names.value };
  const { sessionId: from } = source.key;
  const past = { from, epoch, messages, throughEventId };
  const plan = { forked, past, agentSessionId, actor: options.actor };
  const made = await makeFork(world, source, plan);
  return made.ok ? ok(forked) : made;
}

/** What a fork is made of. */
interface ForkPlan {
  readonly forked: Forked;
  readonly past: Past;
  readonly agentSessionId: string | null;
  readonly actor: Actor;
}

async function makeFork(
  world: SessionWorld,
  source: LiveSession,
  plan: ForkPlan,
): Promise<Result<void>> {
  const { forked, actor } = plan;
  const { key, displayName } = forked;
  const manifest = await world.store.readManifest(source.key);
  if (!manifest.ok) return manifest;
  const draft = new ForkDraft(world, key, withoutWorkflow(manifest.value));
  const creation = creationOf(source.session, displayName);
  const bounded = await boundCreation(world, { key, creation, actor });
  if (!bounded.ok) return bounded;
  const { bound } = bounded.value;
  const by = { actor, ...(bound && { bound }) };
  const begun = await draft.begin(creation, source.session.chosen.currentCwd, by);
  if (!begun.ok) return begun;
  const finished = await filled(world, source, draft, plan);
  const isTold = finished.ok && isForReaders(source.session, creation, actor);
  const result = isTold ? await announced(world, source, forked, actor) : finished;
  if (!result.ok) await draft.discard();
  return result;
}

async function filled(
  world: SessionWorld,
  { key, session }: LiveSession,
  draft: ForkDraft,
  { past, agentSessionId }: ForkPlan,
): Promise<Result<void>> {
  const slots = await copySlots(world, key, draft);
  if (!slots.ok) return slots;
  const copied = await draft.addPast(past, () => hasDisk(world, key));
  const { agentUsualMode = null, agentOffer = null } = session;
  return copied.ok ? draft.finish({ agentSessionId, agentUsualMode, agentOffer }) : copied;
}

/** A long past may fill what is left of the tenant's share of the disk. */
async function hasDisk({ disk }: SessionWorld, { tenantId }: SessionKey): Promise<Result<void>> {
  const refusal = (await disk?.refusalFor(tenantId)) ?? null;
  return refusal === null ? DONE : { ok: false, refusal };
}

/** A workflow goes on in one session only: its slot and its place do not go along. */
function withoutWorkflow(manifest: Manifest): Manifest {
  const { smState, ...rest } = manifest;
  return smState !== undefined && isWorkflowSlot(smState.smExtId) ? rest : manifest;
}

/**
 * The slots of owners that are not here go along as they are now: only their owners can know what
 * they say of an earlier turn.
 */
async function copySlots(
  { store }: SessionWorld,
  key: SessionKey,
  draft: ForkDraft,
): Promise<Result<void>> {
  const read = await store.readSlots(key);
  if (!read.ok) return read;
  for (const slot of read.value.slots) {
    if (isOwnSlot(slot.owner) || isWorkflowSlot(slot.owner)) continue;
    const added = await draft.addSlot(slot);
    if (!added.ok) return added;
  }
  return DONE;
}

/**
 * The agent's own copy, if what it knows is what the fork has: it is at rest, the last turn did
 * not fail, and nothing happened until it had copied. Else the fork's agent receives the past.
 */
async function agentCopy(
  source: LiveSession,
  agent: AgentSession | null,
  lastEventId: number,
): Promise<string | null> {
  const { connection, lastTurnError } = source.session;
  const isAtRest = connection.sessionState === "ready" && lastTurnError === null;
  const isUnchanged = () => source.lastEventId === lastEventId;
  if (agent === null || !isAtRest || !isUnchanged()) return null;
  const copy = await agent.fork();
  return copy.ok && isUnchanged() ? copy.value : null;
}

/**
 * The fork has the current settings of its source, and is never the shared session. If the source
 * is private so is the fork, and the user who makes it is the only one who sees it.
 */
function creationOf({ sessionId, fixed, chosen, connection }: Session, displayName: string) {
  const { createdAtMs: _createdAtMs, createdBy: _createdBy, ...kept } = fixed;
  const {
    titleSource: _titleSource,
    name: _name,
    currentCwd: _currentCwd,
    audience = null,
    ...settings
  } = chosen;
  const { visibility } = sharingOf(audience, null);
  const creation: Creation = {
    ...kept,
    ...settings,
    visibility,
    scope: "thread",
    source: { type: "branch", id: sessionId },
    parentSessionId: sessionId,
    autonomyProfile: connection.autonomyProfile,
    agentMode: connection.agentMode,
    displayName,
  };
  return creation;
}

async function namesOf(
  world: SessionWorld,
  { key, session }: LiveSession,
  { name: wanted, among = {} }: ForkOptions,
) {
  const { store } = world;
  const old = await sessionName(store, key, nameOf(session));
  if (!old.ok) return old;
  const given = wanted?.trim() ?? "";
  const named = given === "" ? await branchName(store, key.tenantId, old.value, among) : ok(given);
  if (!named.ok) return named;
  const forkedFrom = { sessionId: key.sessionId, displayName: old.value };
  return ok({ displayName: named.value, forkedFrom });
}

/** Whether all who read the old session may know of the new one: a private fork is its maker's. */
function isForReaders({ chosen }: Session, { visibility }: Creation, actor: Actor): boolean {
  return visibility !== "private" || !isSeenByOthers(chosen.audience ?? null, userOf(actor));
}

async function announced(
  { clock }: SessionWorld,
  source: LiveSession,
  { key, displayName: given, forkedFrom }: Forked,
  actor: Actor,
): Promise<Result<void>> {
  const by = stampedBy(clock, SERVER);
  const { sessionId: newSessionId } = key;
  // Who sees the old session later does not see a private fork, and not its name either.
  const isPrivate = source.session.chosen.audience !== undefined;
  const displayName = isPrivate ? withEnding(forkedFrom.displayName, " (Branch)") : given;
  const data = { sourceSessionId: source.key.sessionId, newSessionId, displayName };
  const announcement = { type: "session_branched", data } as const;
  const originator = originatorOf(actor);
  const announce = { ...by, type: "announce", announcement, originator } as const;
  const { refusal } = await source.submit(announce);
  return refusal === null ? DONE : { ok: false, refusal };
}

/** What a session is called: by its name, or else by how it began, as lists do. */
async function sessionName(
  store: SessionStore,
  key: SessionKey,
  displayName: string | null,
): Promise<Result<string>> {
  if (displayName !== null) return ok(displayName);
  const page = await store.readMessages(key, { after: 0, limit: 1 });
  if (!page.ok) return page;
  const first = readMessage(page.value.rows[0]?.text ?? "");
  const text = first?.role === "user" ? promptText(first.content) : "";
  return ok(text.replace(/[\s\p{Cc}]+/gu, " ").trim() || "Session");
}

/** The name with ` (Branch)` behind it, and with a number as well if there is one such already. */
async function branchName(
  store: SessionStore,
  tenantId: TenantId,
  name: string,
  among: ListFilter,
): Promise<Result<string>> {
  const numbered = (n: number) => withEnding(name, n === 1 ? " (Branch)" : ` (Branch ${n})`);
  const page = { limit: FORK_NAMES_MAX, cursor: null };
  const alike = await store.list(tenantId, { ...among, text: withEnding(name, " (Branch") }, page);
  if (!alike.ok) return alike;
  const taken = new Set(alike.value.sessions.map(({ displayName }) => displayName));
  let n = 1;
  while (taken.has(numbered(n))) n += 1;
  return ok(numbered(n));
}

/** Room is left for any number, so that names that differ in it differ in nothing else. */
function withEnding(name: string, ending: string): string {
  const chars = DISPLAY_NAME_CHARS_MAX - ` (Branch ${FORK_NAMES_MAX})`.length;
  return `${cutText(name, chars)}${ending}`;
}

/** Where a conversation is forked: after a turn that is in it whole. */
type ForkPoint = Pick<Past, "messages" | "throughEventId">;

/**
 * The end of the given turn, or of the last one. Null if the conversation has no such turn: one
 * that failed or was abandoned is not in it, and one at work is not in it yet.
 */
async function forkPoint(
  store: SessionStore,
  key: SessionKey,
  { messageCount, lastEventId }: Pick<StoredRecord, "messageCount" | "lastEventId">,
  turnId: TurnId | null,
): Promise<Result<ForkPoint | null>> {
  const isOfTurn = (message: ConversationMessage) => turnId === null || message.turnId === turnId;
  const last = await newestMessage(store, key, messageCount, turnId ?? "", isOfTurn);
  if (!last.ok || last.value === null) return last.ok ? ok(null) : last;
  const { id: messages, message } = last.value;
  const end = await endOfTurn(store, key, lastEventId, message.turnId);
  return end.ok ? ok({ messages, throughEventId: end.value }) : end;
}

/** The last event of a turn, sought backwards; 0 if the log has no such turn. */
async function endOfTurn(
  store: SessionStore,
  key: SessionKey,
  lastEventId: number,
  turnId: TurnId,
): Promise<Result<number>> {
  let limit = FIRST_ROWS;
  for (let before = lastEventId + 1; ; ) {
    const page = await store.readTurns(key, { before, limit });
    if (!page.ok) return page;
    const { rows, more } = page.value;
    const found = rows.find((turn) => hasVerdict(turn, turnId));
    if (found !== undefined || !more) return ok(found?.lastId ?? 0);
    before = rows.at(-1)?.lastId ?? 0;
    limit = Math.min(limit * 2, PAGE_ROWS_MAX);
  }
}

function hasVerdict(turn: FoldedTurn, turnId: TurnId): boolean {
  return (
    turn.text.includes(turnId) &&
    eventsIn(turn).some(({ type, data }) => type === "turn_complete" && data.turnId === turnId)
  );
}

/**
 * The completed turn that goes by this name: its own, or that of its prompt. Null if the
 * conversation has none.
 */
export async function turnOfRecord(
  store: SessionStore,
  key: SessionKey,
  recordId: PromptId | TurnId,
): Promise<Result<TurnId | null>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { messageCount } = record.value;
  const found = await newestMessage(store, key, messageCount, recordId, (message) => {
    const promptId = message.role === "user" ? message.promptId : null;
    return message.turnId === recordId || promptId === recordId;
  });
  return found.ok ? ok(found.value?.message.turnId ?? null) : found;
}

interface FoundMessage {
  readonly id: number;
  readonly message: ConversationMessage;
}

/**
 * The newest message that has this text in it and fits. It is sought backwards, in pages that
 * grow: mostly it is the last one.
 */
async function newestMessage(
  store: SessionStore,
  key: SessionKey,
  messageCount: number,
  text: string,
  fits: (message: ConversationMessage) => boolean,
): Promise<Result<FoundMessage | null>> {
  let size = FIRST_ROWS;
  for (let through = messageCount; through > 0; ) {
    const from = Math.max(0, through - size);
    let found: FoundMessage | null = null;
    for (let after = from; after < through; ) {
      const page = await store.readMessages(key, { after, limit: through - after });
      if (!page.ok) return page;
      for (const row of page.value.rows) {
        const message = row.text.includes(text) ? readMessage(row.text) : null;
        if (message !== null && fits(message)) found = { id: row.id, message };
      }
      after = page.value.rows.at(-1)?.id ?? through;
    }
    if (found !== null) return ok(found);
    through = from;
    size = Math.min(size * 2, PAGE_ROWS_MAX);
  }
  return ok(null);
}

/** So many rows are looked at first; where they do not have what is sought, twice as many. */
const FIRST_ROWS = 8;
