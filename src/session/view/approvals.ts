import { stringAt } from "../../core/json.ts";
import { GRANT_SEARCH_TURNS_MAX } from "../../core/limits.ts";
import type { Ask } from "../../core/policy/ask.ts";
import { ASKING_UNKNOWN, type AskingView, askingView } from "../../core/policy/asking.ts";
import { type TierRule, tierRule } from "../../core/policy/gate.ts";
import { RISK_TIERS, type RiskTier } from "../../core/policy/risk.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { type AgentModes, agentModes } from "../agent/agent-modes.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { type AgentState, agentState } from "./agent-state.ts";
import { lookBack, sinceLastTurn } from "./recent-log.ts";
import { isoTime } from "./summary.ts";

/** What a session lets happen unasked, what was granted in it, and what it asks just now. */
export interface ApprovalsView {
  readonly securityMode: Session["fixed"]["securityMode"];
  readonly allowlist: readonly string[];
  readonly approvalMode: Session["chosen"]["approvalMode"];
  readonly autonomy: Session["connection"]["autonomyProfile"];
  /** As somebody chose it, and as the agent says that it is; null where that is not known. */
  readonly agentMode: { readonly chosen: string | null; readonly observed: string | null };
  /** Whether the agent asks at all before it acts. */
  readonly asking: AskingView;
  /** What becomes of a call of each tier that nobody has granted. */
  readonly tiers: readonly { readonly tier: RiskTier; readonly rule: TierRule }[];
  readonly grants: readonly GrantView[];
  readonly asks: readonly AskView[];
  readonly sandbox: SandboxView;
}

interface GrantView {
  readonly key: string;
  readonly tier: RiskTier;
  /** Left out where the log no longer tells. */
  readonly since?: string;
  readonly clientId?: string;
  readonly userId?: string;
}

interface AskView {
  readonly requestId: string;
  readonly kind: Ask["kind"];
  readonly tier: RiskTier;
  readonly title: string | null;
  readonly since: string;
  readonly deadline: string | null;
}

interface SandboxView {
  readonly state: Session["connection"]["sandboxState"];
  readonly provisionedAt: string | null;
  readonly lastActivityAt: string | null;
}

/** As the session is on the disk, and without an agent too. */
export async function approvalsView(
  world: Pick<SessionWorld, "store" | "settings">,
  live: Pick<LiveSession, "agent" | "key" | "session">,
): Promise<Result<ApprovalsView>> {
  const { store } = world;
  const { fixed, chosen, connection } = live.session;
  const { securityMode, allowlist } = fixed;
  const { autonomyProfile, turn } = connection;
  const agent = await agentState(store, live);
  if (!agent.ok) return agent;
  const given = await grantsGiven(store, live.key, connection.sessionGrants);
  if (!given.ok) return given;
  const modes = modesOf(agent.value);
  return ok({
    securityMode,
    allowlist,
    approvalMode: chosen.approvalMode,
    autonomy: autonomyProfile,
    agentMode: { chosen: connection.agentMode, observed: modes.current },
    asking: askingNow(world, live, modes.current),
    tiers: RISK_TIERS.map((tier) => {
      return { tier, rule: tierRule(securityMode, autonomyProfile, tier) };
    }),
    grants: [...connection.sessionGrants].map(([key, tier]) => {
      return { key, tier, ...giving(given.value.get(key)) };
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

function askView({ requestId, kind, tier, toolCall, askedAtMs, deadlineAtMs }: Ask): AskView {
  const title = stringAt(toolCall, "title");
  const deadline = timeOrNull(deadlineAtMs);
  return { requestId, kind, tier, title, since: isoTime(askedAtMs), deadline };
}

function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoTime(atMs);
}

type GrantEvent = Extract<LogEvent, { type: "session_grant_added" }>;

function giving(event: GrantEvent | undefined) {
  if (event === undefined) return {};
  const { originatorClientId: clientId, originatorUserId: userId, _meta } = event;
  const since = isoTime(_meta.serverTimestamp);
  return { since, ...(clientId && { clientId }), ...(userId && { userId }) };
}

/**
 * The event by which each grant came to be. The newest of a key is the one that counts; grants of
 * an earlier instance are older than any of this one, and so are never taken for one of these.
 */
async function grantsGiven(
  store: SessionStore,
  key: SessionKey,
  grants: ReadonlyMap<string, RiskTier>,
): Promise<Result<ReadonlyMap<string, GrantEvent>>> {
  const given = new Map<string, GrantEvent>();
  if (grants.size === 0) return ok(given);
  const hasAll = () => [...grants.keys()].every((one) => given.has(one));
  const look = (events: readonly LogEvent[]) => {
    for (const event of events.toReversed()) {
      if (event.type !== "session_grant_added" || given.has(event.data.key)) continue;
      given.set(event.data.key, event);
    }
    return hasAll();
  };
  const recent = await sinceLastTurn(store, key, WORD);
  if (!recent.ok) return recent;
  if (look(recent.value)) return ok(given);
  const search = { text: WORD, turnsMax: GRANT_SEARCH_TURNS_MAX };
  const looked = await lookBack(store, key, search, look);
  return looked.ok ? ok(given) : looked;
}

const WORD = '"session_grant_added"';

/** Whether the agent of a session asks before it acts, by what it has said of itself. */
export function askingNow(
  { settings }: Pick<SessionWorld, "settings">,
  { session, agent }: Pick<LiveSession, "agent" | "session">,
  /** The mode that it was last known to be in, where it is not there to say. */
  lastMode: string | null = null,
): AskingView {
  const { fixed, chosen, connection } = session;
  const asking = settings.asking.get(chosen.activeAgent) ?? ASKING_UNKNOWN;
  const { agentMode } = connection;
  if (agent === null) {
    const known = { chosen: agentMode, observed: lastMode, offered: null, options: null };
    return askingView(asking, fixed.securityMode, known);
  }
  const { current: observed, ids: offered } = agentModes(agent.offer);
  const options = new Map<string, unknown>();
  for (const { id, currentValue } of agent.offer.configOptions) {
    if (typeof id === "string") options.set(id, currentValue);
  }
  const known = { chosen: agentMode, observed, offered, options };
  return askingView(asking, fixed.securityMode, known);
}

/** What whoever comes to a session is told of it: nothing, where its agent is known to ask. */
export function askingDoubt(
  world: Pick<SessionWorld, "settings">,
  live: Pick<LiveSession, "agent" | "session">,
): { readonly asking?: AskingView } {
  const asking = askingNow(world, live);
  return asking.how === "unknown" || asking.how === "up_to_mode" ? { asking } : {};
}
