import { createHash } from "node:crypto";
import { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import {
  type ClientId,
  parseClientId,
  parseSessionId,
  type SessionId,
  type TenantId,
} from "../../core/id.ts";
import {
  CONFLICT_CHARS_MAX,
  IDEMPOTENCY_AGE_MS_MAX,
  IDEMPOTENCY_KEY_CHARS_MAX,
  IDEMPOTENCY_KEYS_MAX,
  SUBMIT_TRIES_MAX,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import type { Clock } from "../../platform/clock.ts";
import { KeyedMutex } from "../../platform/keyed-mutex.ts";
import type { JoinedSession, SessionAccess } from "../../session/index.ts";
import { newSessionBody } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, refused } from "../http/answer.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";
import type { TenantStore } from "../identity/tenant-document.ts";
import { ABOUT_BEGIN } from "./about/begin.ts";
import { type NewSessionRequest, readNewSession, requestedSettings } from "./new-session.ts";
import { actorOf, freshClientId, reapIfLost, refusedMode, sessionBody } from "./session-request.ts";

/** A request to create a session, with the ids it will have. */
interface CreateRequest {
  readonly request: ServerRequest<unknown>;
  readonly wanted: NewSessionRequest;
  readonly sessionId: SessionId;
  readonly clientId: ClientId;
}

/** Creates a session, or joins the one that its workspace shares. */
export function createRoute(daemon: Daemon): Route {
  const keys = new CreateKeys(daemon.store, daemon.clock);
  return route({
    method: "POST",
    path: "/session",
    about: ABOUT_BEGIN.create,
    needs: "session:create",
    clientId: "shape",
    fields: newSessionBody,
    honours: [
      "session_scope_override",
      "session_id_override",
      "session_source_metadata",
      "client_identity",
      "multi_workspace_sessions",
    ],
    async handle(request) {
      const order = await createRequestOf(daemon, request);
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

async function createRequestOf(
  daemon: Daemon,
  request: ServerRequest<unknown>,
): Promise<Result<CreateRequest>> {
  const { tenantId } = request.caller;
  const wanted = await readNewSession(daemon, tenantId, request.body);
  if (!wanted.ok) return wanted;
  const { ids } = daemon;
  const clientId = request.clientId ?? freshClientId(ids.session());
  if (clientId === null) return fail("internal_error");
  const sessionId = wanted.value.sessionId ?? ids.session();
  return ok({ request, wanted: wanted.value, sessionId, clientId });
}

async function create(daemon: Daemon, order: CreateRequest): Promise<Answer> {
  const joined = await join(daemon, order);
  return joined.ok ? createdAnswer(order, joined.value) : refused(joined.refusal);
}

/** Answers a repeated request with the session that the first one created. */
async function createOnce(
  daemon: Daemon,
  keys: CreateKeys,
  order: CreateRequest,
  key: string,
): Promise<Answer> {
  const { request, sessionId, clientId } = order;
  const { tenantId, userId } = request.caller;
  const name = nameOfKey(userId ?? request.clientId, key);
  const wanted = { name, bodyHash: hashOf(request.body), sessionId, clientId, attached: false };
  return keys.withKey(tenantId, name, async () => {
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
    const { session, attached } = joined.value;
    const isOther = attached || session.key.sessionId !== kept.sessionId;
    const noted = { ...kept, attached, sessionId: session.key.sessionId };
    if (isOther) await keys.correct(tenantId, noted);
    return createdAnswer(named, joined.value);
  });
}

/** Null if there is no such session: it was never created, or it was deleted. */
async function madeBefore(
  daemon: Daemon,
  { request }: CreateRequest,
  { sessionId, clientId, attached }: KeptCreate,
): Promise<Answer | null> {
  const known = await daemon.sessions.known(request.caller, sessionId);
  if (!known.ok) return known.refusal.code === "session_not_found" ? null : refused(known.refusal);
  const record = await known.value.record();
  if (record.ok && record.value.closed) {
    // The session was closed since. It is still what this request created, and can be loaded.
    const { workspaceCwd, createdAtMs, epoch: eventEpoch } = record.value;
    const createdAt = new Date(createdAtMs).toISOString();
    return json(200, { sessionId, workspaceCwd, attached, clientId, createdAt, eventEpoch });
  }
  const actor = actorOf(request, clientId);
  // The client may have received the first answer after all, and is then registered already.
  const isThere = known.value.hasClient(clientId);
  const anybody = { ...actor, clientId: null };
  const found = await known.value.resume(isThere ? anybody : actor);
  if (!found.ok) return found.refusal.code === "session_not_found" ? null : refused(found.refusal);
  const { session } = found.value;
  const agentFailure = found.value.agentFailure ?? session.agentFailure;
  const failure = agentFailure && { agentFailure: errorBody(agentFailure) };
  const answer = json(200, { ...sessionBody(session, { attached, clientId }), ...failure });
  return reapIfLost(answer, { session, isMade: false, clientId, actor });
}

/** Returns the session with the client registered, or changes nothing. */
async function join(daemon: Daemon, order: CreateRequest): Promise<Result<JoinedSession>> {
  const { request, wanted, sessionId, clientId } = order;
  const actor = actorOf(request, clientId);
  const { workspaceCwd, isUsualAutonomy, modelId } = wanted;
  const creation = { ...wanted.creation, workspaceCwd };
  const options = { sessionId, creation, actor, isUsualAutonomy, modelId };
  const joined = await daemon.sessions.create(request.caller, options);
  if (!joined.ok) return { ok: false, refusal: withConflict(joined.refusal) };
  if (!joined.value.attached) return joined;
  const { session } = joined.value;
  const why = await suitRefusal(session, order);
  if (why === null) return joined;
  await session.detach(clientId, actor);
  return { ok: false, refusal: why };
}

/** Joining changes no setting of a session unless the request names it (P7). */
async function suitRefusal(
  access: SessionAccess,
  { request, wanted, clientId }: CreateRequest,
): Promise<Refusal | null> {
  const { session } = access;
  const { activeAgent } = session.chosen;
  const { securityMode, allowlist } = session.fixed;
  if (wanted.agent !== null && wanted.agent !== activeAgent) {
    return conflictOf("agent", activeAgent, wanted.agent);
  }
  if (wanted.securityMode !== null && wanted.securityMode !== securityMode) {
    return conflictOf("mode", securityMode, wanted.securityMode);
  }
  if (wanted.allowlist !== null && !isSameList(wanted.allowlist, allowlist)) {
    return conflictOf("allowlist", listText(allowlist), listText(wanted.allowlist));
  }
  const actor = actorOf(request, clientId);
  for (const command of requestedSettings(wanted)) {
    const changed = await access.command(actor, command);
    if (!changed.ok) return changed.refusal;
  }
  return null;
}

/** Compares as sets. */
function isSameList(one: readonly string[], other: readonly string[]): boolean {
  const [these, those] = [new Set(one), new Set(other)];
  return these.size === those.size && one.every((pattern) => those.has(pattern));
}

const listText = (list: readonly string[]) => cutText(list.join(", "), CONFLICT_CHARS_MAX);

function conflictOf(field: string, actual: string, wanted: string): Refusal {
  return refusal("session_setting_conflict", { field, actual, wanted });
}

/** A session that is not being created right now is in the store. */
function withConflict(why: Refusal): Refusal {
  if (why.code !== "session_id_conflict") return why;
  return refusal(why.code, { conflict: "persisted", ...why.details });
}

/**
 * A model that the agent refuses does not fail the request: the answer says so, and every client
 * sees an event.
 */
async function createdAnswer(
  { request, wanted, clientId }: CreateRequest,
  { session, attached, agentFailure }: JoinedSession,
): Promise<Answer> {
  const actor = actorOf(request, clientId);
  const { modelId } = wanted;
  const model = modelId && (await session.changeModel({ modelId }, actor));
  const body = sessionBody(session, { attached, clientId });
  const failure = agentFailure && { agentFailure: errorBody(agentFailure) };
  const answer = json(200, { ...body, ...(model && { modelApplied: model.ok }), ...failure });
  return reapIfLost(answer, { session, isMade: !attached, clientId, actor });
}

/** A create request that may be repeated, and its outcome. */
export interface KeptCreate extends z.output<typeof keptCreate> {}

const keptCreate = z.object({
  /** Hash of caller and key: keys may be long, and may contain private data. */
  name: z.string(),
  /** Hash of the body, to detect another request under the same key. */
  bodyHash: z.string(),
  sessionId: z.string().transform(orNever(parseSessionId)),
  clientId: z.string().transform(orNever(parseClientId)),
  attached: z.boolean(),
  atMs: z.number(),
});

const document = z.object({ creates: z.array(keptCreate) });

const KIND = "idempotency";
const KEY = "creates";

/**
 * Idempotency keys of create requests. A repeated request is answered with the session that the
 * first one created, also by the next server process. One small document per tenant keeps the
 * latest keys. A key is written before its session is created, with the session's future id: after
 * a crash the next process finds that session, or creates it under that id.
 */
export class CreateKeys {
  readonly #store: TenantStore;
  readonly #clock: Clock;
  readonly #requests = new KeyedMutex();
  readonly #writes = new KeyedMutex();

  constructor(store: TenantStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Handles requests with the same key one after the other. */
  withKey<Value>(tenantId: TenantId, name: string, act: () => Promise<Value>): Promise<Value> {
    return this.#requests.run(JSON.stringify([tenantId, name]), act);
  }

  /** Returns the request known under this key, or records this one. */
  async claim(tenantId: TenantId, wanted: Omit<KeptCreate, "atMs">): Promise<Result<KeyClaim>> {
    const { name, bodyHash } = wanted;
    const claimed = { ...wanted, atMs: this.#clock.nowMs() };
    let known: KeptCreate | undefined;
    const written = await this.#change(tenantId, (creates) => {
      known = creates.find((one) => one.name === name);
      return known === undefined ? [...creates, claimed] : null;
    });
    if (!written.ok) return written;
    if (known === undefined) return ok({ ...claimed, isNew: true });
    return known.bodyHash === bodyHash
      ? ok({ ...known, isNew: false })
      : fail("idempotency_conflict");
  }

  /** Records that the request joined an existing session. */
  correct(tenantId: TenantId, kept: KeptCreate): Promise<Result<void>> {
    return this.#change(tenantId, (creates) =>
      creates.map((one) => (one.name === kept.name ? kept : one)),
    );
  }

  /** Forgets a request that failed, so that its key can be used again. */
  forget(tenantId: TenantId, name: string): Promise<Result<void>> {
    return this.#change(tenantId, (creates) => creates.filter((one) => one.name !== name));
  }

  #change(tenantId: TenantId, change: KeysChange): Promise<Result<void>> {
    return this.#writes.run(tenantId, () => this.#changeNow(tenantId, change));
  }

  /** Reads the document again if another server process wrote it meanwhile. */
  async #changeNow(tenantId: TenantId, change: KeysChange): Promise<Result<void>> {
    for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
      const found = await this.#store.readDocument(tenantId, KIND, KEY);
      if (!found.ok) return found;
      const changed = change(this.#recent(found.value?.value));
      if (changed === null) return DONE;
      const value = { creates: changed.slice(-IDEMPOTENCY_KEYS_MAX) };
      const expectedVersion = found.value?.version ?? 0;
      const write = { kind: KIND, key: KEY, expectedVersion, value };
      const written = await this.#store.writeDocument(tenantId, write);
      if (written.ok) return DONE;
      if (written.refusal.code !== "document_conflict") return written;
    }
    return fail("server_busy");
  }

  /** An unreadable document counts as empty: it must not make sessions unusable. */
  #recent(value: unknown): readonly KeptCreate[] {
    const since = this.#clock.nowMs() - IDEMPOTENCY_AGE_MS_MAX;
    const creates = document.safeParse(value).data?.creates ?? [];
    return creates.filter(({ atMs }) => atMs > since);
  }
}

interface KeyClaim extends KeptCreate {
  /** The key was not used before. */
  readonly isNew: boolean;
}

/** Null means no change. */
type KeysChange = (creates: readonly KeptCreate[]) => readonly KeptCreate[] | null;

/** Keys belong to one caller, so that a caller never gets the session of another. */
export function nameOfKey(caller: string | null, key: string): string {
  return hashOf([caller, key]);
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function orNever<Id>(parse: (text: string) => Id | null) {
  return (text: string, context: z.RefinementCtx): Id => {
    const id = parse(text);
    if (id !== null) return id;
    context.addIssue({ code: "custom", message: "it is not an id" });
    return z.NEVER;
  };
}
