import type { OwnAgentCalls } from "../../agent/agent.ts";
import { type Refusal, refusal } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import {
  ADOPTION_SESSIONS_SOUGHT_MAX,
  AGENT_SESSION_ID_CHARS_MAX,
  DISPLAY_NAME_CHARS_MAX,
} from "../../core/limits.ts";
import { ceilingRefusal } from "../../core/policy/ceiling.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Viewer } from "../../core/session/visibility.ts";
import { cutText } from "../../core/text.ts";
import { KeyedMutex } from "../../platform/keyed-mutex.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { type CreationRequest, wholeCreation } from "../actor/open.ts";
import { storedAgentSessions } from "../conversation/agent-copy.ts";
import { ensureAgent } from "../eviction.ts";
import type { SessionHost } from "../host.ts";
import type { Resumed } from "../life/clients.ts";
import type { LiveSession } from "../live.ts";
import { sessionPages } from "../replay.ts";
import { boundCreation } from "../tenant/policy-check.ts";
import { boundIn, callerSpeaker } from "../tenant/tenant-policies.ts";
import type { SessionWorld } from "../world.ts";
import { ForkDraft } from "./fork-draft.ts";

/** Whose agent is asked for its own sessions, and where. */
export interface OwnSessionsQuery {
  readonly agent: string;
  readonly workspaceCwd: string;
  readonly isOperator: boolean;
}

/** A session that the agent has made without the server. */
export interface OwnSession {
  readonly agentSessionId: string;
  readonly title: string | null;
  /** As the agent writes it. */
  readonly updatedAt: string | null;
  readonly cwd: string;
}

export interface AdoptionRequest extends CreationRequest {
  readonly agentSessionId: string;
  readonly isOperator: boolean;
}

type AdoptionHost = Pick<SessionHost, "live" | "peek" | "resume" | "ownerVanished">;

/**
 * Sessions that an agent has made without the server: which there are, and how one becomes a
 * session of the server. They are for the operator, and for users whose agents have homes of their
 * own: in a shared home they may belong to any user (P8).
 */
export class Adoptions {
  readonly #world: SessionWorld;
  readonly #host: AdoptionHost;
  /** One at a time for each agent, so that no session is adopted twice. */
  readonly #adopting = new KeyedMutex();

  constructor(world: SessionWorld, host: AdoptionHost) {
    this.#world = world;
    this.#host = host;
  }

  /** The agent's own sessions in a workspace, without those that sessions of the server have. */
  async list(viewer: Viewer, query: OwnSessionsQuery): Promise<Result<readonly OwnSession[]>> {
    const listed = await this.#listed(viewer, query);
    if (!listed.ok || listed.value.length === 0) return listed;
    const taken = await this.#taken(viewer, query);
    if (!taken.ok) return taken;
    return ok(listed.value.filter(({ agentSessionId }) => !taken.value.has(agentSessionId)));
  }

  /**
   * Makes a session that goes on from one of the agent's own. The agent restores it before this
   * answers; if it cannot, there is no session, and the agent's own stays as it was: a session that
   * clients delete would take that with it, and this one is removed in other ways.
   */
  adopt(viewer: Viewer, request: AdoptionRequest): Promise<Result<Resumed>> {
    const { activeAgent } = request.creation;
    return this.#adopting.run(activeAgent, () => this.#adopt(viewer, request));
  }

  async #adopt(viewer: Viewer, request: AdoptionRequest): Promise<Result<Resumed>> {
    const { agentSessionId, isOperator, key, actor } = request;
    const { activeAgent: agent, workspaceCwd } = request.creation;
    const listed = await this.#listed(viewer, { agent, workspaceCwd, isOperator });
    if (!listed.ok) return listed;
    if (!listed.value.some((one) => one.agentSessionId === agentSessionId)) {
      return fail("agent_session_not_found", { agentSessionId });
    }
    const taken = await this.#taken(viewer, { agent, isOperator });
    if (!taken.ok) return taken;
    if (taken.value.has(agentSessionId)) return fail("agent_session_taken", { agentSessionId });
    const full = await this.#world.disk?.refusalFor(viewer.tenantId);
    if (full) return { ok: false, refusal: full };
    const made = await this.#make(request);
    if (!made.ok) return made;
    const resumed = await this.#host.resume(key, actor);
    if (!resumed.ok) {
      const live = this.#host.peek(key);
      await (live === null ? made.value.discard() : this.#host.ownerVanished(live, actor));
      return resumed;
    }
    const { live } = resumed.value;
    // Its maker is registered, and did not join it: it goes if the answer is lost.
    live.attendance.left();
    const why = (await ensureAgent(live)) ?? notRestored(live, agentSessionId);
    if (why === null) return ok({ ...resumed.value, attached: false });
    await this.#host.ownerVanished(live, actor);
    return { ok: false, refusal: why };
  }

  /** The session at rest, with the agent's own as the side of its agent. */
  async #make(request: AdoptionRequest): Promise<Result<ForkDraft>> {
    const bounded = await boundCreation(this.#world, request);
    if (!bounded.ok) return bounded;
    const { key, actor, bound } = bounded.value;
    const creation = await wholeCreation(this.#world, key, bounded.value.creation);
    if (!creation.ok) return creation;
    const { securityMode: mode, workspaceCwd } = creation.value;
    const draft = new ForkDraft(this.#world, key, {
      mode,
      projectRoot: `${workspaceCwd}/.fermata`,
    });
    const by = { actor, ...(bound && { bound }) };
    const begun = await draft.begin(creation.value, workspaceCwd, by);
    if (!begun.ok) return begun;
    const { agentSessionId } = request;
    const finished = await draft.finish({ agentSessionId, agentUsualMode: null });
    if (finished.ok) return ok(draft);
    await draft.discard();
    return finished;
  }

  async #listed(
    { tenantId, userId, role }: Viewer,
    { agent: profile, workspaceCwd: workspace, isOperator }: OwnSessionsQuery,
  ): Promise<Result<readonly OwnSession[]>> {
    const calls: OwnAgentCalls | undefined = this.#world.agentCalls;
    const speakers = [callerSpeaker({ userId, role })];
    const bound = await boundIn(this.#world, tenantId, speakers, { activeAgent: profile });
    if (!bound.ok) return bound;
    const why = bound.value && ceilingRefusal(bound.value.ceiling, { agent: profile });
    if (why) return { ok: false, refusal: why };
    const caller = { tenantId, userId, profile, workspace, asks: true };
    const listed = (await calls?.list(caller, isOperator)) ?? ok([]);
    if (!listed.ok) return listed;
    return ok(listed.value.map((one) => this.#read(one)).filter((one) => one !== null));
  }

  /** Null for one that cannot be named. */
  #read(one: JsonObject): OwnSession | null {
    const { redact } = this.#world;
    const id = stringAt(one, "sessionId") ?? "";
    const isName = id !== "" && id.length <= AGENT_SESSION_ID_CHARS_MAX && redact(id) === id;
    if (!isName) return null;
    const text = (name: string) => {
      const found = stringAt(one, name);
      return found === null ? null : cutText(redact(found), DISPLAY_NAME_CHARS_MAX);
    };
    const cwd = stringAt(one, "cwd") ?? "";
    return { agentSessionId: id, title: text("title"), updatedAt: text("updatedAt"), cwd };
  }

  /**
   * The agent's ids of the sessions that may be in the same home: those of all tenants for the
   * operator, else those of the user whose home it is. Refused if there are too many to look at:
   * none may be adopted twice.
   */
  async #taken(
    { tenantId: own, userId }: Viewer,
    { agent, isOperator }: Pick<OwnSessionsQuery, "agent" | "isOperator">,
  ): Promise<Result<ReadonlySet<string>>> {
    const { store } = this.#world;
    const tenants = isOperator ? await store.tenants() : ok([own]);
    if (!tenants.ok) return tenants;
    const taken = new Set<string>();
    for (const { key, session } of this.#host.live) {
      const { fixed, chosen, agentSessionId } = session;
      const isTheirs = key.tenantId === own && (fixed.createdBy ?? null) === userId;
      const isSame = chosen.activeAgent === agent && (isOperator || isTheirs);
      if (isSame && agentSessionId !== null) taken.add(agentSessionId);
    }
    const filter = isOperator ? {} : { createdBy: userId };
    let left = ADOPTION_SESSIONS_SOUGHT_MAX;
    for (const tenantId of tenants.value) {
      for await (const page of sessionPages(store, tenantId, filter)) {
        if (!page.ok) return page;
        left -= page.value.sessions.length;
        if (left < 0) return fail("invalid_request", TOO_MANY);
        for (const record of page.value.sessions) {
          const ids = await storedAgentSessions(this.#world, tenantId, record, agent);
          if (!ids.ok) return ids;
          for (const id of ids.value) taken.add(id);
        }
      }
    }
    return ok(taken);
  }
}

const TOO_MANY = {
  reason:
    `There are more than ${ADOPTION_SESSIONS_SOUGHT_MAX} sessions, too many to find out which of ` +
    "the agent's own are free; delete some.",
  limit: ADOPTION_SESSIONS_SOUGHT_MAX,
};

/** Why the agent goes on from something else than its own session; null if it does not. */
function notRestored({ agent }: LiveSession, agentSessionId: string): Refusal | null {
  const isRestored = agent?.context === "resumed" || agent?.context === "loaded";
  if (isRestored && agent.agentSessionId === agentSessionId) return null;
  const reason = "it did not restore its own session";
  return refusal("agent_call_failed", { method: AGENT_METHODS.loadSession, reason });
}
