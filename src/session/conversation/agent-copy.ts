import type { AgentCaller } from "../../agent/agent.ts";
import type { TenantId } from "../../core/id.ts";
import { AGENT_COPIES_DELETING_MAX, PAGE_ROWS_MAX } from "../../core/limits.ts";
import { wantsAsks } from "../../core/policy/asking.ts";
import { ok, type Result } from "../../core/result.ts";
import { CORE_SLOT, readSlot } from "../../core/session/slot.ts";
import type { Session } from "../../core/session/state.ts";
import type { SessionKey, StoredRecord } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { eventIn } from "../replay.ts";
import type { SessionWorld } from "../world.ts";

/** An agent's own copy of a session, which outlives it unless the agent deletes it. */
interface KeptCopy {
  readonly caller: AgentCaller;
  readonly agentSessionId: string;
}

/**
 * The copy that the agent has of a session; null if none is known. One of another epoch, as after
 * a restored backup, may be the copy of another session.
 */
export async function agentCopyOf(
  world: SessionWorld,
  key: SessionKey,
  live: LiveSession | null,
): Promise<KeptCopy | null> {
  if (world.agentCalls === undefined) return null;
  const record = live === null ? await world.store.readRecord(key) : null;
  if (record?.ok === false) return null;
  const session = live?.session ?? (await storedSession(world, key));
  const epoch = live?.epoch ?? record?.value.epoch;
  if (session === null || session.agentSessionId === null || session.agentEpoch !== epoch) {
    return null;
  }
  const { fixed, chosen, agentSessionId } = session;
  const caller = {
    tenantId: key.tenantId,
    userId: fixed.createdBy ?? null,
    profile: chosen.activeAgent,
    workspace: fixed.workspaceCwd,
    asks: wantsAsks(fixed.securityMode, world.policies !== undefined),
  };
  return { caller, agentSessionId };
}

/**
 * The ids by which a stored session has been known to this agent since its last snapshot: the
 * first page of events after it has how the agent was connected.
 */
export async function storedAgentSessions(
  world: SessionWorld,
  tenantId: TenantId,
  { sessionId, snapshotEventId, lastEventId }: StoredRecord,
  agent: string,
): Promise<Result<readonly string[]>> {
  const key = { tenantId, sessionId };
  const session = await storedSession(world, key);
  const isOther = session !== null && session.chosen.activeAgent !== agent;
  const known = isOther ? null : (session?.agentSessionId ?? null);
  const ids = known === null ? [] : [known];
  if (snapshotEventId >= lastEventId) return ok(ids);
  const page = await world.store.readEvents(key, { after: snapshotEventId, limit: PAGE_ROWS_MAX });
  if (!page.ok) return page;
  for (const { type, data } of page.value.events.map(eventIn)) {
    if (type === "agent_connected" && typeof data.agentSessionId === "string") {
      ids.push(data.agentSessionId);
    }
  }
  return ok(ids);
}

/** As of its last snapshot: one without a snapshot has nothing that an agent would keep. */
async function storedSession({ store }: SessionWorld, key: SessionKey): Promise<Session | null> {
  const read = await store.readSlots(key);
  if (!read.ok) return null;
  const slot = read.value.slots.find(({ owner }) => owner === CORE_SLOT.owner);
  return slot === undefined ? null : readSlot(slot.version, new TextDecoder().decode(slot.payload));
}

/** Has the agent delete its copy, as well as that goes; the deletion does not wait for it. */
export function deleteCopy({ agentCalls, log }: SessionWorld, copy: KeptCopy | null): void {
  if (copy === null) return;
  const { caller, agentSessionId } = copy;
  void agentCalls?.delete(caller, agentSessionId).then((became) => {
    const { tenantId, profile } = caller;
    if (became === "dropped") log("agent copy kept", { tenantId, profile });
  });
}

/**
 * The same for a tenant that is being deleted: its newest sessions, while their agents still may
 * run. Homes of its users are removed as a whole.
 */
export async function deleteCopies(
  world: SessionWorld,
  tenantId: TenantId,
  late: AbortSignal,
): Promise<void> {
  const { agentCalls, store } = world;
  if (agentCalls === undefined) return;
  const limit = Math.min(PAGE_ROWS_MAX, AGENT_COPIES_DELETING_MAX);
  const page = await store.list(tenantId, {}, { limit, cursor: null });
  for (const { sessionId } of page.ok ? page.value.sessions : []) {
    if (late.aborted) return;
    const copy = await agentCopyOf(world, { tenantId, sessionId }, null);
    if (copy !== null) await agentCalls.delete(copy.caller, copy.agentSessionId);
  }
}
