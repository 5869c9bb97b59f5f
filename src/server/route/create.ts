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
import { givenBy } from "../../session/given-by.ts";
import type { Resumed } from "../../session/life/arrival.ts";
import type { LiveSession } from "../../session/live.ts";
import { isoTime } from "../../session/view/summary.ts";
import type { Clock } from "../../session/world.ts";
import type { SessionStore } from "../../store/store.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, refused } from "../http/answer.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";
import { Turnstile } from "../turnstile.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";
import { readSessionWish, type SessionWish, settingsWished } from "./new-session.ts";
import { actorOf, freshClientId, reapIfLost, refusedMode, sessionBody } from "./session-request.ts";

/** A request to make a session, with the names that it will have. */
interface CreateOrder {
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

async function orderOf(
  daemon: Daemon,
  request: ServerRequest<unknown>,
): Promise<Result<CreateOrder>> {
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

async function create(daemon: Daemon, order: CreateOrder): Promise<Answer> {
  const joined = await join(daemon, order);
  return joined.ok ? createdAnswer(daemon, order, joined.value) : refused(joined.refusal);
}

/** The same request, sent again with its key, is answered with the session that it made. */
async function createOnce(
  daemon: Daemon,
  keys: CreateKeys,
  order: CreateOrder,
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
    return createdAnswer(daemon, named, joined.value);
  });
}

/** Null if there is no such session: it was never made, or is gone without a trace. */
async function madeBefore(
  daemon: Daemon,
  { request }: CreateOrder,
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
async function join(daemon: Daemon, order: CreateOrder): Promise<Result<Resumed>> {
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
  { request, wish, clientId }: CreateOrder,
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
async function createdAnswer(
  daemon: Daemon,
  { request, wish, clientId }: CreateOrder,
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

/** A create that somebody may send again, and what it came to. */
export interface KeptCreate extends z.output<typeof keptCreate> {}

const keptCreate = z.object({
  /** The caller and the key, as a hash: keys may be long, and tell something. */
  name: z.string(),
  /** Of the body, so that another one is known. */
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
 * The keys that sessions were made with, so that the same request, sent again, is answered with
 * the session that it made; also by the next server. A tenant's last ones are kept in one small
 * document. A key is written before its session is made, with the id that it will have: whenever
 * the server dies, the next one finds the session, or makes that one.
 */
export class CreateKeys {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #requests = new Turnstile();
  readonly #writes = new Turnstile();

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Requests with the same key are handled one after the other. */
  inTurn<Value>(tenantId: TenantId, name: string, act: () => Promise<Value>): Promise<Value> {
    return this.#requests.pass(JSON.stringify([tenantId, name]), act);
  }

  /** What the key stands for already, or what it stands for from now on. */
  async claim(tenantId: TenantId, wanted: Omit<KeptCreate, "atMs">): Promise<Result<Claim>> {
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

  /** It came to something else: a session that was there already. */
  correct(tenantId: TenantId, kept: KeptCreate): Promise<Result<void>> {
    return this.#change(tenantId, (creates) =>
      creates.map((one) => (one.name === kept.name ? kept : one)),
    );
  }

  /** It came to nothing, so the key may be used for something else. */
  forget(tenantId: TenantId, name: string): Promise<Result<void>> {
    return this.#change(tenantId, (creates) => creates.filter((one) => one.name !== name));
  }

  #change(tenantId: TenantId, change: KeysChange): Promise<Result<void>> {
    return this.#writes.pass(tenantId, () => this.#changeNow(tenantId, change));
  }

  /** Another server may write the document at the same time: then it is read again. */
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

  /** What cannot be read is not known, which makes no session unusable. */
  #recent(value: unknown): readonly KeptCreate[] {
    const since = this.#clock.nowMs() - IDEMPOTENCY_AGE_MS_MAX;
    const creates = document.safeParse(value).data?.creates ?? [];
    return creates.filter(({ atMs }) => atMs > since);
  }
}

interface Claim extends KeptCreate {
  /** Nobody has used this key before. */
  readonly isNew: boolean;
}

/** Null changes nothing. */
type KeysChange = (creates: readonly KeptCreate[]) => readonly KeptCreate[] | null;

/** A key is its caller's own: nobody is answered with another's session. */
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
    context.addIssue({ code: "custom", message: "it is no id" });
    return z.NEVER;
  };
}
