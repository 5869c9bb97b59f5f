import type { TenantId } from "../../core/id.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import {
  AGENT_COPIES_DELETING_MAX,
  AGENT_COPIES_DELETING_TENANT_MAX,
  AGENT_LISTED_PAGES_MAX,
  AGENT_LISTED_SESSIONS_MAX,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { AgentCaller, CopyDeletion, OwnAgentCalls } from "../agent.ts";
import type { AgentHost } from "../bridge/host.ts";
import type { PoolKey, PoolMember } from "./members.ts";

interface CallsContext {
  keyOf(caller: AgentCaller): Promise<Result<PoolKey>>;
  /** Calls an agent of this key, in a process that is started for it if there is none. */
  use<Value>(
    key: PoolKey,
    act: (host: AgentHost) => Promise<Result<Value>>,
  ): Promise<Result<Value>>;
}

/** The copies of one tenant that are being deleted, one at a time. */
class TenantDeletions {
  readonly one = new Semaphore(1);
  count = 0;
  /** The tenant's agents are dismissed: none may be started for what still waits. */
  isOver = false;
}

/** Calls to agents that belong to no session of the server. */
export class AgentCalls implements OwnAgentCalls {
  readonly #context: CallsContext;
  /** Whether agents delete sessions, by the name of their profile. */
  readonly #deletes = new BoundedMap<string, boolean>(AGENT_COPIES_DELETING_MAX);
  /** Copies that an agent has to delete as soon as it runs, by key. */
  readonly #waiting = new BoundedMap<string, readonly string[]>(AGENT_COPIES_DELETING_MAX);
  /** Only tenants that have some: so there are never more than copies. */
  readonly #deletions = new Map<TenantId, TenantDeletions>();
  #deleting = 0;

  constructor(context: CallsContext) {
    this.#context = context;
  }

  /** What the agent has in its own list, except for sessions in other directories. */
  async list(caller: AgentCaller, isOperator: boolean): Promise<Result<readonly JsonObject[]>> {
    const key = await this.#ownKeyOf(caller, isOperator);
    if (!key.ok) return key;
    return this.#context.use(key.value, (host) => listed(host, caller.workspace));
  }

  async logout(caller: AgentCaller, isOperator: boolean): Promise<Result<void>> {
    const key = await this.#ownKeyOf(caller, isOperator);
    if (!key.ok) return key;
    return this.#context.use(key.value, async (host) => {
      const method = AGENT_METHODS.logout;
      if (!host.abilities.logout) return fail("agent_unsupported", { method });
      const done = await host.call(method, {});
      return done.ok ? DONE : done;
    });
  }

  /** What is in a home that users share is the operator's (P8). */
  async #ownKeyOf(caller: AgentCaller, isOperator: boolean): Promise<Result<PoolKey>> {
    const key = await this.#context.keyOf(caller);
    const isOwn = key.ok && key.value.credentials.home !== null;
    if (!key.ok || isOwn || isOperator) return key;
    return fail("role_required", { roles: WHO_SHARES });
  }

  /**
   * Deletes the agent's copy of a session, as well as that goes. An agent that is not known to
   * delete any is not started for it: it gets the copy to delete when it runs again.
   */
  async delete(caller: AgentCaller, agentSessionId: string): Promise<CopyDeletion> {
    const { tenantId, profile } = caller;
    if (this.#deletes.get(profile) === false) return "failed";
    const own = this.#deletions.get(tenantId) ?? new TenantDeletions();
    const isFull = own.count >= AGENT_COPIES_DELETING_TENANT_MAX;
    if (isFull || this.#deleting >= AGENT_COPIES_DELETING_MAX) return "dropped";
    this.#deletions.set(tenantId, own);
    own.count += 1;
    this.#deleting += 1;
    try {
      return await own.one.run(() => this.#deleteNext(own, caller, agentSessionId));
    } catch {
      return "failed";
    } finally {
      own.count -= 1;
      this.#deleting -= 1;
      const isLast = own.count === 0 && this.#deletions.get(tenantId) === own;
      if (isLast) this.#deletions.delete(tenantId);
    }
  }

  async #deleteNext(
    own: TenantDeletions,
    caller: AgentCaller,
    agentSessionId: string,
  ): Promise<CopyDeletion> {
    if (own.isOver) return "dropped";
    const key = await this.#context.keyOf(caller);
    if (own.isOver) return "dropped";
    if (!key.ok) return "failed";
    if (this.#deletes.get(caller.profile) === true) {
      const act = (host: AgentHost) => deleted(host, agentSessionId);
      return (await this.#context.use(key.value, act)).ok ? "deleted" : "failed";
    }
    const { name } = key.value;
    const all = [...(this.#waiting.get(name) ?? []), agentSessionId];
    this.#waiting.set(name, all.slice(-AGENT_COPIES_DELETING_MAX));
    return "later";
  }

  /** The agents of a tenant end, and none is started to delete what it still has. */
  dismiss(tenantId: TenantId) {
    const own = this.#deletions.get(tenantId);
    if (own !== undefined) own.isOver = true;
    this.#deletions.delete(tenantId);
  }

  /** A process has started: it deletes what waited for it. */
  started({ key, host }: PoolMember) {
    this.#deletes.set(key.profile.name, host.abilities.delete);
    const waiting = this.#waiting.get(key.name) ?? [];
    this.#waiting.delete(key.name);
    if (!host.abilities.delete) return;
    for (const agentSessionId of waiting) void deleted(host, agentSessionId);
  }
}

const WHO_SHARES = "the operator, and users whose agents have homes of their own";

async function deleted(host: AgentHost, sessionId: string): Promise<Result<void>> {
  const method = AGENT_METHODS.deleteSession;
  if (!host.abilities.delete) return fail("agent_unsupported", { method });
  const done = await host.call(method, { sessionId });
  return done.ok ? DONE : done;
}

/** All pages of the list, within a limit. */
async function listed(host: AgentHost, cwd: string): Promise<Result<readonly JsonObject[]>> {
  const method = AGENT_METHODS.listSessions;
  if (!host.abilities.list) return fail("agent_unsupported", { method });
  const found: JsonObject[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < AGENT_LISTED_PAGES_MAX; page += 1) {
    const answer: Result<JsonObject> = await host.call(method, { cwd, ...(cursor && { cursor }) });
    if (!answer.ok) return answer;
    const { sessions } = answer.value;
    const here = (Array.isArray(sessions) ? sessions : []).filter(isObject);
    // Some agents take no notice of the directory.
    found.push(...here.filter((one) => stringAt(one, "cwd") === cwd));
    cursor = stringAt(answer.value, "nextCursor");
    if (cursor === null || found.length >= AGENT_LISTED_SESSIONS_MAX) break;
  }
  return ok(found.slice(0, AGENT_LISTED_SESSIONS_MAX));
}
