import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import type { ClientId, SessionId } from "../../core/id.ts";
import { CONFLICT_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import type { Resumed } from "../../session/life/clients.ts";
import type { LiveSession } from "../../session/live.ts";
import { isoTime } from "../../session/view/summary.ts";
import { givenBy } from "../../session/world.ts";
import { type Answer, json, refused } from "../answer.ts";
import { CreateKeys, hashOf, type KeptCreate, nameOfKey } from "../create-keys.ts";
import type { Daemon } from "../daemon.ts";
import { readSessionWish, type SessionWish, settingsWished } from "../new-session.ts";
import { reapIfLost } from "../reaper.ts";
import { refusedMode } from "../refused-mode.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { sessionBody } from "../session-body.ts";
import { actorOf, freshClientId } from "../session-request.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";

/** A request to make a session, with the names that it will have. */
interface Order {
  readonly request: ServerRequest<unknown>;
  readonly wish: SessionWish;
  readonly workspaceCwd: string;
  readonly sessionId: SessionId;
  readonly clientId: ClientId;
}

/** Makes a session, or joins the one that its workspace shares (wire, 4.1). */
export function createRoute(daemon: Daemon): Route {
  const keys = new CreateKeys(daemon.world.store, daemon.world.clock);
  return route({
    method: "POST",
    path: "/session",
    gate: "caller",
    needs: "session:create",
    clientId: "shape",
    body: "json",
    honours: [
      "session_scope_override",
      "session_id_override",
      "session_source_metadata",
      "client_identity",
      "multi_workspace_sessions",
    ],
    async handle(request) {
      const order = await orderOf(daemon, request);
      if (!order.ok) return refusedMode(order.refusal);
      const key = request.header("idempotency-key");
      if (key === null) return create(daemon, order.value);
      if (key.length < 1 || key.length > IDEMPOTENCY_KEY_CHARS_MAX) {
        return refused(refusal("invalid_idempotency_key", { limit: IDEMPOTENCY_KEY_CHARS_MAX }));
      }
      return createOnce(daemon, keys, order.value, key);
    },
  });
}

async function orderOf(daemon: Daemon, request: ServerRequest<unknown>): Promise<Result<Order>> {
  const { tenantId } = request.caller;
  const wish = await readSessionWish(daemon, tenantId, request.body);
  if (!wish.ok) return wish;
  const workspace = await trustedWorkspaceOf(daemon.workspaces, tenantId, wish.value.cwd);
  if (!workspace.ok) return workspace;
  const { ids } = daemon.world;
  const clientId = request.clientId ?? freshClientId(ids.session());
  if (clientId === null) return fail("internal_error");
  const sessionId = wish.value.sessionId ?? ids.session();
  const workspaceCwd = workspace.value.cwd;
  return ok({ request, wish: wish.value, workspaceCwd, sessionId, clientId });
}

async function create(daemon: Daemon, order: Order): Promise<Answer> {
  const joined = await join(daemon, order);
  return joined.ok ? answerTo(daemon, order, joined.value) : refused(joined.refusal);
}

/** The same request, sent again with its key, is answered with the session that it made. */
async function createOnce(
  daemon: Daemon,
  keys: CreateKeys,
  order: Order,
  key: string,
): Promise<Answer> {
  const { request, sessionId, clientId } = order;
  const { tenantId, userId } = request.caller;
  const name = nameOfKey(userId ?? request.clientId, key);
  const wanted = { name, bodyHash: hashOf(request.body), sessionId, clientId, attached: false };
  return keys.inTurn(tenantId, name, async () => {
    const claim = await keys.claim(tenantId, wanted);
    if (!claim.ok) return refused(claim.refusal);
    const { isNew, ...kept } = claim.value;
    const again = isNew ? null : await madeBefore(daemon, order, kept);
    if (again !== null) return again;
    const named = { ...order, sessionId: kept.sessionId, clientId: kept.clientId };
    const joined = await join(daemon, named);
    if (!joined.ok) {
      await keys.forget(tenantId, name);
      return refused(joined.refusal);
    }
    const { live, attached } = joined.value;
    const isOther = attached || live.key.sessionId !== kept.sessionId;
    const noted = { ...kept, attached, sessionId: live.key.sessionId };
    if (isOther) await keys.correct(tenantId, noted);
    return answerTo(daemon, named, joined.value);
  });
}

/** Null if there is no such session: it was never made, or is gone without a trace. */
async function madeBefore(
  daemon: Daemon,
  { request }: Order,
  { sessionId, clientId, attached }: KeptCreate,
): Promise<Answer | null> {
  const key = { tenantId: request.caller.tenantId, sessionId };
  const record = await daemon.world.store.readRecord(key);
  if (record.ok && record.value.closed) {
    // It was closed since: that is what it made nevertheless, and it can be loaded.
    const { workspaceCwd, createdAtMs, epoch: eventEpoch } = record.value;
    const createdAt = isoTime(createdAtMs);
    return json(200, { sessionId, workspaceCwd, attached, clientId, createdAt, eventEpoch });
  }
  const actor = actorOf(request, clientId);
  // Its first answer may have come after all, and then this client is there already.
  const isThere = daemon.runtime.peek(key)?.session.clients.has(clientId) ?? false;
  const anybody = { ...actor, clientId: null };
  const found = await daemon.runtime.resume(key, isThere ? anybody : actor);
  if (!found.ok) return found.refusal.code === "session_not_found" ? null : refused(found.refusal);
  const { live } = found.value;
  const answer = json(200, sessionBody(daemon.world, live, { attached, clientId }));
  return reapIfLost(daemon, answer, { live, isMade: false, clientId, actor });
}

/** The session that is wanted, with its client registered; or neither. */
async function join(daemon: Daemon, order: Order): Promise<Result<Resumed>> {
  const { request, wish, workspaceCwd, sessionId, clientId } = order;
  const key = { tenantId: request.caller.tenantId, sessionId };
  const actor = actorOf(request, clientId);
  const creation = { ...wish.creation, workspaceCwd };
  const joined = await daemon.runtime.create({ key, creation, actor });
  if (!joined.ok) return { ok: false, refusal: withConflict(joined.refusal) };
  if (!joined.value.attached) return joined;
  const { live } = joined.value;
  const why = await suitRefusal(daemon, live, order);
  if (why === null) return joined;
  await daemon.runtime.detach(live.key, clientId, actor);
  return { ok: false, refusal: why };
}

/** What a session is set to does not change by somebody joining it, except on their wish (P7). */
async function suitRefusal(
  { runtime, world }: Daemon,
  { key, session }: LiveSession,
  { request, wish, clientId }: Order,
): Promise<Refusal | null> {
  const { activeAgent } = session.chosen;
  const { securityMode, allowlist } = session.fixed;
  if (wish.agent !== null && wish.agent !== activeAgent) {
    return conflictOf("agent", activeAgent, wish.agent);
  }
  if (wish.securityMode !== null && wish.securityMode !== securityMode) {
    return conflictOf("mode", securityMode, wish.securityMode);
  }
  if (wish.allowlist !== null && !isSameList(wish.allowlist, allowlist)) {
    return conflictOf("allowlist", listText(allowlist), listText(wish.allowlist));
  }
  const by = givenBy(world.clock, actorOf(request, clientId));
  for (const command of settingsWished(wish, by)) {
    const changed = await runtime.submit(key, command);
    if (!changed.ok) return changed.refusal;
  }
  return null;
}

/** Whatever order they are in, and however often they are said. */
function isSameList(one: readonly string[], other: readonly string[]): boolean {
  const [these, those] = [new Set(one), new Set(other)];
  return these.size === those.size && one.every((pattern) => those.has(pattern));
}

const listText = (list: readonly string[]) => cutText(list.join(", "), CONFLICT_CHARS_MAX);

function conflictOf(field: string, actual: string, wanted: string): Refusal {
  return refusal("session_setting_conflict", { field, actual, wanted });
}

/** If it is not being made at this moment, it is in the store. */
function withConflict(why: Refusal): Refusal {
  if (why.code !== "session_id_conflict") return why;
  return refusal(why.code, { conflict: "persisted", ...why.details });
}

/** A model that the agent does not take is told to everybody, and the session is there anyway. */
async function answerTo(
  daemon: Daemon,
  { request, wish, clientId }: Order,
  { live, attached, agentFailure }: Resumed,
): Promise<Answer> {
  const actor = actorOf(request, clientId);
  const { modelId } = wish;
  const model = modelId && (await daemon.runtime.choices.changeModel(live.key, { modelId }, actor));
  const body = sessionBody(daemon.world, live, { attached, clientId });
  const failure = agentFailure && { agentFailure: errorBody(agentFailure) };
  const answer = json(200, { ...body, ...(model && { modelApplied: model.ok }), ...failure });
  return reapIfLost(daemon, answer, { live, isMade: !attached, clientId, actor });
}
