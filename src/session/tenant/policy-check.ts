import type { Refusal } from "../../core/error.ts";
import type { PromptId } from "../../core/id.ts";
import { STORE_REOPEN_MS_MIN } from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import type { Bound, TurnSpeaker } from "../../core/policy/bound.ts";
import {
  type BoundSettings,
  cappedRules,
  ceilingRefusal,
  lowerAutonomy,
} from "../../core/policy/ceiling.ts";
import { isMode } from "../../core/policy/risk.ts";
import { ok, type Result } from "../../core/result.ts";
import { boundBy, modeOtherThanUsual, turnSettings } from "../../core/session/bounded.ts";
import { type ClientActor, type Command, SERVER } from "../../core/session/command.ts";
import {
  type Session,
  speakerOf,
  speakersOf,
  type WaitingPrompt,
} from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import type { SessionKey } from "../../store/store.ts";
import type { CreationRequest } from "../actor/open.ts";
import type { TryAgain, TurnBySlash } from "../actor/turn-queue.ts";
import type { AgentNow } from "../agent/agent-modes.ts";
import type { SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { boundIn, callerSpeaker } from "./tenant-policies.ts";

/** A session as far as it decides which policy binds a command to it. */
interface BoundSession {
  readonly key: SessionKey;
  readonly session: Session;
  /** What its agent reports of itself, while it has one. */
  readonly agentNow: AgentNow | null;
}

/**
 * The command with what the tenant's policy says to it, unless it has that already. The policy is
 * read here and decided by in the core, so that a decision depends on its command alone.
 */
export async function boundCommand<Given extends Command>(
  world: SessionWorld,
  live: BoundSession,
  command: Given,
): Promise<Result<Given>> {
  const { key, session } = live;
  const { actor, type } = command;
  const by = command.bound === undefined && world.policies !== undefined ? boundBy(type) : null;
  const caller = by === "caller" && actor.kind === "client" ? [callerSpeaker(actor)] : null;
  const speakers = by === "turn" ? speakersOf(session) : caller;
  if (speakers === null || speakers.length === 0) return ok(command);
  const bound = await boundIn(world, key.tenantId, speakers, session.chosen);
  if (!bound.ok || bound.value === undefined) return bound.ok ? ok(command) : bound;
  const why = isForAgent(command) ? await agentRefusal(bound.value.ceiling, live) : null;
  if (why !== null) return { ok: false, refusal: why };
  const offered = type === "vote" && live.agentNow ? live.agentNow.modes.ids : null;
  return ok({ ...command, bound: { ...bound.value, ...(offered && { offeredModes: offered }) } });
}

/** Whether the agent gets it as it is; what a slash means is found out when it is next. */
function isForAgent(command: Command): boolean {
  if (command.type === "steer") return true;
  return command.type === "prompt" && slashTextOf(command.content) === null;
}

/** A request to create a session, with what binds its maker. */
export async function boundCreation(
  world: SessionWorld,
  request: CreationRequest,
): Promise<Result<CreationRequest>> {
  const { key, creation, actor, isUsualAutonomy = false } = request;
  if (world.policies === undefined || actor.kind !== "client") return ok(request);
  const speakers = [callerSpeaker(actor)];
  const found = await boundIn(world, key.tenantId, speakers, creation);
  if (!found.ok) return found;
  const bound = found.value && modelChecked(found.value, request);
  const { autonomyProfile: usual } = creation;
  if (bound === undefined || !isUsualAutonomy || usual === null) return ok({ ...request, bound });
  const autonomyProfile = lowerAutonomy(usual, bound.ceiling);
  return ok({ ...request, bound, creation: { ...creation, autonomyProfile } });
}

/**
 * The rules of a session for the prompts of one user, where the policy is more careful than the
 * session: it is told, so that no user takes the session's own fields for what will happen.
 */
export async function effectiveRules(
  world: SessionWorld,
  { key, session }: BoundSession,
  caller: Pick<ClientActor, "userId" | "role">,
) {
  const { securityMode, allowlist } = session.fixed;
  const { sessionGrants: grants, autonomyProfile } = session.connection;
  const own = { securityMode, allowlist, grants, autonomyProfile };
  const bound = await boundIn(world, key.tenantId, [callerSpeaker(caller)], session.chosen);
  if (!bound.ok) return bound;
  const rules = bound.value === undefined ? own : cappedRules(own, bound.value.ceiling);
  const selfApproval = bound.value?.ceiling.selfApproval ?? true;
  return ok({
    securityMode: rules.securityMode,
    autonomy: rules.autonomyProfile,
    selfApproval,
  });
}

/** A model that is set next counts as named: of the agent's own choice there is no turn before. */
function modelChecked(bound: Bound, { creation, modelId = null }: CreationRequest): Bound {
  const isNext = creation.modelConfig.modelId === null && modelId !== null;
  if (!isNext || ceilingRefusal(bound.ceiling, { model: modelId }) !== null) return bound;
  return { ...bound, ceiling: { ...bound.ceiling, models: "any" } };
}

/** What binds the turn at work; undefined where nothing does. */
export function turnBound(
  world: SessionWorld,
  { key, decided }: Pick<SessionSeat, "key" | "decided">,
): Promise<Result<Bound | undefined>> {
  return boundIn(world, key.tenantId, speakersOf(decided), decided.chosen);
}

/** Why the policy forbids the user of a prompt these settings; null if it does not. */
export async function promptForbidden(
  world: SessionWorld,
  live: BoundSession,
  prompt: WaitingPrompt,
  settings: BoundSettings,
): Promise<Refusal | null> {
  return speakerForbidden(world, live, speakerOf(prompt), settings);
}

/** The same for any user; by default for the agent and model that a turn would run with. */
export async function speakerForbidden(
  world: SessionWorld,
  { key, session }: BoundSession,
  speaker: TurnSpeaker,
  settings: BoundSettings = turnSettings(session),
): Promise<Refusal | null> {
  const { chosen } = session;
  const { agent: activeAgent = chosen.activeAgent } = settings;
  const bound = await boundIn(world, key.tenantId, [speaker], { ...chosen, activeAgent });
  if (!bound.ok) return bound.refusal;
  if (bound.value === undefined) return null;
  const { ceiling } = bound.value;
  // A user who may not write any more does nothing here, also with what no rule names.
  const isGone = ceiling.role === null || !isPermitted(ceiling.role, "session:write");
  return ceilingRefusal(ceiling, isGone ? { ...settings, agent: activeAgent } : settings);
}

/**
 * Whether clients may run shells of the server's: those run as its user, beside all that its data
 * holds. Without tokens every client is the operator, and is asked.
 */
export function mayRunShells(world: Pick<SessionWorld, "policies" | "settings">): boolean {
  return world.policies === undefined || world.settings.enableShell;
}

type Begin = (prompt: WaitingPrompt, slash: TurnBySlash | null, again: TryAgain) => void;

/**
 * Begins a turn only if the policy lets its user work with the session's agent and model as they
 * are by now: it may have changed, or they, since the prompt was admitted. Otherwise the prompt has
 * its verdict. One that waits for credit is checked again when there is some.
 */
export function policyChecked(
  world: SessionWorld,
  seat: SessionSeat,
  agent: { readonly now: AgentNow | null },
  begin: Begin,
): Begin {
  if (world.policies === undefined) return begin;
  let checking: PromptId | null = null;
  let checked: PromptId | null = null;
  return (prompt, slash, again) => {
    const { promptId } = prompt;
    if (checked === promptId) return begin(prompt, slash, again);
    if (checking === promptId) return;
    checking = promptId;
    const { key, decided: session } = seat;
    const live = { key, session, agentNow: agent.now };
    void turnForbidden(world, live, prompt, slash).then((why) => {
      checking = null;
      if (why?.code === "policy_forbids") {
        const by = stampedBy(world.clock, SERVER);
        void seat.submit({ ...by, type: "refuse_prompt", promptId, why });
      } else if (why !== null) {
        world.clock.after(STORE_REOPEN_MS_MIN, again);
      } else {
        // It begins in this call, or is checked anew.
        checked = promptId;
        again();
        checked = null;
      }
    });
  };
}

/** The same for a whole turn: what the session is set to, and what its agent is like. */
async function turnForbidden(
  world: SessionWorld,
  live: BoundSession,
  prompt: WaitingPrompt,
  slash: TurnBySlash | null,
): Promise<Refusal | null> {
  const { key, session } = live;
  const speaker = speakerOf(prompt);
  const why = await speakerForbidden(world, live, speaker, slashSettings(session, slash));
  if (why !== null || slash?.work === "tool") return why;
  const bound = await boundIn(world, key.tenantId, [speaker], session.chosen);
  if (!bound.ok) return bound.refusal;
  return bound.value === undefined ? null : agentRefusal(bound.value.ceiling, live);
}

/**
 * Why the next turn may not run with the agent as it is; null if it may. What a session is set to
 * is one thing, and what its agent does another: it may have refused the model, and it may have
 * gone into another mode by itself. Of a mode it is put back, where no turn is at work.
 */
async function agentRefusal(
  ceiling: Bound["ceiling"],
  { session, agentNow }: BoundSession,
): Promise<Refusal | null> {
  // One that is still to come is looked at when it has come.
  if (agentNow === null) return null;
  const { model, modes } = agentNow;
  const { agentMode: chosen } = session.connection;
  const current = isMode(modes.current, chosen) ? chosen : modes.current;
  const agentMode = modeOtherThanUsual(session, current);
  const why = ceilingRefusal(ceiling, { model, agentMode });
  if (why?.details.rule !== "agent_mode") return why;
  const usual = session.connection.agentMode ?? session.agentUsualMode ?? null;
  if (session.running !== null || usual === null) return why;
  const back = await agentNow.setMode(usual);
  return back.ok ? ceilingRefusal(ceiling, { model }) : why;
}

/** What a ceiling looks at in a turn; one of a tool of ours has no agent and no model. */
export function slashSettings(session: Session, slash: TurnBySlash | null): BoundSettings {
  const used = slash?.work === "tool" ? {} : turnSettings(session);
  return { ...used, ...(slash?.skill != null && { skill: slash.skill }) };
}
