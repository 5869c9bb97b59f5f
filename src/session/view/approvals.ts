import { stringAt } from "../../core/json.ts";
import { GRANT_SEARCH_TURNS_MAX } from "../../core/limits.ts";
import type { Ask } from "../../core/policy/ask.ts";
import { ASKING_UNKNOWN, type AskingView, askingView } from "../../core/policy/asking.ts";
import { tierRule } from "../../core/policy/gate.ts";
import { isMode, RISK_TIERS, type RiskTier } from "../../core/policy/risk.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import { optionThatMayUnask } from "../../core/session/bounded.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { type AgentModes, agentModes } from "../agent/agent-modes.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { type AgentState, agentState } from "./agent-state.ts";
import { searchTurns, sinceLastTurn } from "./log-search.ts";
import { isoTime } from "./summary.ts";

/**
 * Says what the agent may do without an ask, what was granted, and which asks are open, as the
 * session is durable. It needs no agent.
 */
export async function approvalsView(
  world: Pick<SessionWorld, "store" | "settings" | "policies">,
  live: Pick<LiveSession, "agent" | "key" | "session">,
) {
  const { store } = world;
  const { fixed, chosen, connection } = live.session;
  const { securityMode, allowlist } = fixed;
  const { autonomyProfile, turn } = connection;
  const grants = await grantEvents(store, live.key, connection.sessionGrants);
  if (!grants.ok) return grants;
  const modes = modesOf(await agentState(store, live));
  return ok({
    securityMode,
    allowlist,
    approvalMode: chosen.approvalMode,
    autonomy: autonomyProfile,
    // As a client chose it, and as the agent reports it; null where that is not known.
    agentMode: { chosen: connection.agentMode, observed: modes.current },
    // Whether the agent asks at all before it acts.
    asking: askingNow(world, live, modes.current),
    // Whether the agent itself plans too; null unless the session is in `plan`.
    plan: chosen.approvalMode === "plan" ? planView(modes) : null,
    // The rule for calls of each tier that have no grant.
    tiers: RISK_TIERS.map((tier) => {
      return { tier, rule: tierRule(securityMode, autonomyProfile, tier) };
    }),
    grants: [...connection.sessionGrants].map(([key, tier]) => {
      return { key, tier, ...grantOrigin(grants.value.get(key)) };
    }),
    asks: [...turn.openAsks.values()].map(askView),
    sandbox: {
      state: connection.sandboxState,
      provisionedAt: timeOrNull(connection.sandboxProvisionedAt),
      lastActivityAt: timeOrNull(connection.lastSandboxActivity),
    },
  });
}

function modesOf({ modes, configOptions = [] }: AgentState): AgentModes {
  return agentModes({ modes: modes ?? null, configOptions });
}

/** What `plan` comes to: an agent may have no such mode, or refuse it, or leave it by itself. */
function planView({ current, ids }: AgentModes) {
  if (isMode(current, "plan")) return { agent: "planning", note: PLANNING };
  if (current === null && ids.length === 0) return { agent: "unknown", note: NOT_PLANNING };
  const isOffered = ids.some((id) => isMode(id, "plan"));
  const why = isOffered ? `it is in its mode "${current}"` : "it has no mode to plan in";
  return { agent: "not_planning", note: `The agent does not plan: ${why}. ${NOT_PLANNING}` };
}

const PLANNING = "The agent plans, and the server writes and runs nothing for it.";
const NOT_PLANNING =
  "The server writes and runs nothing for it; what the agent does by itself is bound by asks only.";

function askView({ requestId, kind, tier, toolCall, askedAtMs, deadlineAtMs, mediation }: Ask) {
  const title = stringAt(toolCall, "title");
  const deadline = timeOrNull(deadlineAtMs);
  const { owners } = mediation;
  const view = { requestId, kind, tier, title, since: isoTime(askedAtMs), deadline };
  return { ...view, ...(owners && { owners }) };
}

function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoTime(atMs);
}

type GrantEvent = Extract<LogEvent, { type: "session_grant_added" }>;

/** Leaves the origin out where the log no longer has the grant. */
function grantOrigin(event: GrantEvent | undefined) {
  if (event === undefined) return {};
  const { originatorClientId: clientId, originatorUserId: userId, _meta } = event;
  const since = isoTime(_meta.serverTimestamp);
  return { since, ...(clientId && { clientId }), ...(userId && { userId }) };
}

/**
 * Finds the event of each grant. The newest of a key counts; grants of an earlier instance are
 * older than any of this one, so none of them is taken for one of these.
 */
async function grantEvents(
  store: SessionStore,
  key: SessionKey,
  grants: ReadonlyMap<string, RiskTier>,
): Promise<Result<ReadonlyMap<string, GrantEvent>>> {
  const found = new Map<string, GrantEvent>();
  if (grants.size === 0) return ok(found);
  const visit = (events: readonly LogEvent[]) => {
    for (const event of events.toReversed()) {
      if (event.type !== "session_grant_added" || found.has(event.data.key)) continue;
      found.set(event.data.key, event);
    }
    return [...grants.keys()].every((one) => found.has(one));
  };
  const recent = await sinceLastTurn(store, key, GRANT_MARK);
  if (!recent.ok) return recent;
  if (visit(recent.value)) return ok(found);
  const search = { text: GRANT_MARK, turnsMax: GRANT_SEARCH_TURNS_MAX };
  const searched = await searchTurns(store, key, search, visit);
  return searched.ok ? ok(found) : searched;
}

const GRANT_MARK = '"session_grant_added"';

/** Says whether the agent of a session asks before it acts, by its own reports. */
export function askingNow(
  { settings, policies }: Pick<SessionWorld, "settings" | "policies">,
  { session, agent }: Pick<LiveSession, "agent" | "session">,
  /** The mode that the agent last reported, for a session without an agent. */
  lastMode: string | null = null,
): AskingView {
  const { fixed, chosen, connection } = session;
  const asking = settings.asking.get(chosen.activeAgent) ?? ASKING_UNKNOWN;
  const { agentMode } = connection;
  const setOption = optionThatMayUnask(session);
  const isShared = policies !== undefined;
  if (agent === null) {
    const known = {
      chosen: agentMode,
      observed: lastMode,
      offered: null,
      options: null,
      setOption,
    };
    return askingView(asking, fixed.securityMode, known, isShared);
  }
  const { current: observed, ids: offered } = agentModes(agent.offer);
  const options = new Map<string, unknown>();
  for (const { id, currentValue } of agent.offer.configOptions) {
    if (typeof id === "string") options.set(id, currentValue);
  }
  const known = { chosen: agentMode, observed, offered, options, setOption };
  return askingView(asking, fixed.securityMode, known, isShared);
}

const DOUBTS: ReadonlySet<AskingView["how"]> = new Set(["unknown", "up_to_mode", "up_to_option"]);

/** Returns what a client that attaches must know: nothing, where the agent is known to ask. */
export function askingDoubt(
  world: Pick<SessionWorld, "settings" | "policies">,
  live: Pick<LiveSession, "agent" | "session">,
): { readonly asking?: AskingView } {
  const asking = askingNow(world, live);
  return DOUBTS.has(asking.how) ? { asking } : {};
}
