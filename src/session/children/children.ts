import { type Refusal, refusal, sentenceOf } from "../../core/error.ts";
import type { ChildId, TurnId } from "../../core/id.ts";
import { stringAt } from "../../core/json.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { wantsAsks } from "../../core/policy/asking.ts";
import { type Ceiling, ceilingRefusal } from "../../core/policy/ceiling.ts";
import { CHILD_LIMITS, type ChildLimits } from "../../core/policy/child-limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { childFailure } from "../../core/session/child.ts";
import type { ChildStarted } from "../../core/session/child-event.ts";
import { isVerdict, type SessionEvent } from "../../core/session/event.ts";
import type { Session } from "../../core/session/state.ts";
import { skillBlock } from "../../core/skill/instructions.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import { cutText } from "../../core/text.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import type { ToolUse } from "../../tool/toolbox.ts";
import type { Written } from "../actor/written.ts";
import { AgentTools } from "../agent/agent-tools.ts";
import type { ReportsDeps } from "../agent/ask-reports.ts";
import {
  type DelegateCall,
  type Delegated,
  type Delegation,
  delegateTool,
} from "../agent/delegate-tool.ts";
import { reservationRequest } from "../meter/reservation-request.ts";
import type { Participant, SessionSeat } from "../participant.ts";
import { turnBound } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { ChildSession } from "./child-session.ts";

/**
 * The child sessions of a session. A call of the session's agent begins one, and is answered when
 * that one has ended: what is going on is in the session's state, and only who waits is here.
 */
export class Children implements Participant, Delegation {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #deps: ReportsDeps;
  /** Those at work, at their agents. */
  readonly #working = new Map<ChildId, ChildSession>();
  /** What each call of a turn without a durable verdict is answered, by the call's id. */
  readonly #answers = new Map<string, CallAnswer>();
  readonly #left = new Set<Promise<void>>();
  /** What was known of a child when it was begun, and is used when that is durable. */
  readonly #begun = new Map<ChildId, BegunChild>();

  constructor(world: SessionWorld, seat: SessionSeat, deps: ReportsDeps) {
    this.#world = world;
    this.#seat = seat;
    this.#deps = deps;
  }

  /** The agents that a task can be given to. */
  get agents(): readonly string[] {
    return this.#world.settings.agentNames;
  }

  /** Begins a child, and answers with what it comes to. The same call again is the same child. */
  async delegate(call: DelegateCall, skills: SkillSnapshot): Promise<ToolAnswer> {
    const { turnId } = call;
    const callId = callIdOf(call.use);
    const known = this.#answers.get(callId);
    if (known !== undefined) return known.answer;
    const { promise, resolve } = Promise.withResolvers<ToolAnswer>();
    this.#answers.set(callId, { turnId, answer: promise, resolve });
    const why = await this.#begin(call, skills);
    if (why !== null) {
      this.#answers.delete(callId);
      resolve({ isError: true, text: sentenceOf(why) });
    }
    return promise;
  }

  /** A call counts for the turn that it was made in, and for no other. */
  async #begin(
    { wanted, use, turnId, openMax: most }: DelegateCall,
    skills: SkillSnapshot,
  ): Promise<Refusal | null> {
    const isOpen = () => turnId !== null && this.#seat.decided.running?.turnId === turnId;
    if (!isOpen()) return refusal("turn_not_open");
    const chosen = await this.#choice(wanted, skills);
    if (!chosen.ok) return chosen.refusal;
    if (!isOpen()) return refusal("turn_not_open");
    const { activation } = this.#seat.decided;
    const childId = this.#world.ids.child();
    const callId = callIdOf(use);
    const { skillTexts, limits } = chosen.value;
    const deadlineAtMs = this.#world.clock.nowMs() + limits.seconds * 1_000;
    const child = { childId, callId, ...chosen.value.child, deadlineAtMs };
    this.#begun.set(childId, { callId, skillTexts, limits });
    const openMax = Math.min(most ?? this.#world.settings.childrenOpenMax, limits.atOnce);
    const max = { openMax, perTurnMax: limits.perTurn };
    const actor = { kind: "agent", activation } as const;
    const by = () => stampedBy(this.#world.clock, actor);
    const why = await this.#seat.submit({ ...by(), type: "start_child", child, ...max });
    if (why !== null) {
      this.#begun.delete(childId);
      return why;
    }
    const withdrawn = () => {
      const outcome = childFailure("call_withdrawn");
      void this.#seat.submit({ ...by(), type: "child_ended", childId, outcome });
    };
    if (use.signal.aborted) withdrawn();
    else use.signal.addEventListener("abort", withdrawn, { once: true });
    use.progress(`The child session "${child.title}" has begun.`);
    return null;
  }

  /** Which agent and model it is, and what it costs; or why it may not be. */
  async #choice(wanted: Delegated, snapshot: SkillSnapshot): Promise<Result<ChosenChild>> {
    const { chosen, surroundings } = this.#seat.decided;
    const agent = wanted.agent ?? chosen.activeAgent;
    const found = await turnBound(this.#world, this.#seat);
    if (!found.ok) return found;
    const ceiling = found.value?.ceiling ?? null;
    const names = this.agents.filter((name) => {
      return ceiling === null || ceilingRefusal(ceiling, { agent: name }) === null;
    });
    if (!names.includes(agent)) {
      return fail("child_agent_unknown", { agent, allowed: names.join(", ") || "none" });
    }
    const isSame = agent === chosen.activeAgent;
    const model = wanted.model ?? (isSame ? chosen.modelConfig.modelId : null);
    const skills = wanted.skills.map((name) => {
      return snapshot.entries.find((entry) => entry.skill_name === name) ?? name;
    });
    const missing = skills.find((skill) => typeof skill === "string");
    if (missing !== undefined) return fail("child_skill_unknown", { skill: missing });
    const texts = skills.flatMap((skill) => (typeof skill === "string" ? [] : [skillBlock(skill)]));
    const why = ceiling && firstRefusal(ceiling, model, wanted.skills);
    if (why) return { ok: false, refusal: why };
    const priced = model ?? (isSame ? (surroundings?.model ?? null) : null);
    const paid = await this.#paid(agent, priced);
    if (!paid.ok) return paid;
    const { task, title, readOnly } = wanted;
    const price = this.#world.meter.priceOf(agent, priced);
    const named = wanted.skills.length === 0 ? {} : { skills: wanted.skills };
    const child = { task, title, readOnly, agent, model, price, ...named };
    const limits = ceiling?.children ?? CHILD_LIMITS;
    return ok({ child, skillTexts: texts.join("\n\n"), limits });
  }

  /** Its credits are slices of its parent's turn: here it is only seen whether there are any. */
  #paid(agent: string, model: string | null): Promise<Result<void>> {
    const { decided, key } = this.#seat;
    const turn = { turnId: this.#world.ids.turn(), userId: decided.running?.userId ?? null };
    const order = { ...reservationRequest(key, decided, turn), agent, model };
    return this.#world.meter.afford(order);
  }

  durable(written: readonly Written[], session: Session) {
    for (const { event } of written) this.#react(event, session);
  }

  #react(event: SessionEvent, session: Session) {
    const { childId } = event;
    if (event.type === "child_session_started") this.#start(event.data, session);
    else if (event.type === "child_session_ended") this.#ended(event.data);
    else if (childId !== undefined) this.#working.get(childId)?.told(event);
    if (isVerdict(event) && event.data.turnId !== undefined) this.#forget(event.data.turnId);
  }

  /** All children of a turn have ended before it; the next may have begun to delegate. */
  #forget(turnId: TurnId) {
    for (const [callId, answer] of this.#answers) {
      if (answer.turnId === turnId) this.#answers.delete(callId);
    }
  }

  #start(child: ChildStarted, session: Session) {
    const { childId, agent, model, task } = child;
    const { skillTexts = "", limits = CHILD_LIMITS } = this.#begun.get(childId) ?? {};
    const systemPrompt = skillTexts === "" ? RULES : `${RULES}\n\n${skillTexts}`;
    const { tenantId } = this.#seat.key;
    const tools = AgentTools.open(this.#world, { tenantId, agent }, [delegateTool(null)]);
    const work = {
      childId,
      activation: session.activation,
      request: {
        ...this.#connectRequest(agent, child.readOnly, session),
        toolbox: tools.server,
        systemPrompt,
      },
      modelId: model,
      content: [{ type: "text", text: task }],
      limits,
    };
    const working = new ChildSession(this.#world, this.#seat, work, this.#deps);
    this.#working.set(childId, working);
    const left = working.run().finally(() => {
      tools.close();
      this.#left.delete(left);
    });
    this.#left.add(left);
  }

  #connectRequest(profile: string, readOnly: boolean, session: Session) {
    const { tenantId } = this.#seat.key;
    const { fixed, chosen } = session;
    return {
      tenantId,
      userId: fixed.createdBy ?? null,
      profile,
      asks: readOnly || wantsAsks(fixed.securityMode, this.#world.policies !== undefined),
      workspace: fixed.workspaceCwd,
      cwd: chosen.currentCwd,
      mcpServers: this.#world.tools.servers,
      past: null,
    };
  }

  #ended({ childId, state, text, error, usage }: SessionEvent<"child_session_ended">["data"]) {
    this.#working.get(childId)?.stop();
    this.#working.delete(childId);
    const { callId = "" } = this.#begun.get(childId) ?? {};
    this.#begun.delete(childId);
    const result = { state, text, ...(error && { error }), usage };
    this.#answers
      .get(callId)
      ?.resolve({ isError: state !== "Closed", text: JSON.stringify(result) });
  }

  /** Whose store has failed gets no more; whose server stops has got all its ends by then. */
  async end(): Promise<void> {
    for (const working of this.#working.values()) working.stop();
    this.#working.clear();
    const gone = { isError: true, text: sentenceOf(refusal("turn_not_open")) };
    for (const { resolve } of this.#answers.values()) resolve(gone);
    this.#answers.clear();
    await Promise.all(this.#left);
  }
}

/** What the policy says to a child at all, to its model and to its skills. */
function firstRefusal(ceiling: Ceiling, model: string | null, skills: readonly string[]) {
  const wants = [{ delegates: true }, { model }, ...skills.map((skill) => ({ skill }))];
  return wants.map((want) => ceilingRefusal(ceiling, want)).find((why) => why !== null) ?? null;
}

interface CallAnswer {
  readonly turnId: TurnId | null;
  readonly answer: Promise<ToolAnswer>;
  resolve(answer: ToolAnswer): void;
}

interface ChosenChild {
  readonly child: Omit<ChildStarted, "childId" | "callId" | "deadlineAtMs">;
  readonly skillTexts: string;
  readonly limits: ChildLimits;
}

interface BegunChild extends Pick<ChosenChild, "skillTexts" | "limits"> {
  readonly callId: string;
}

/** By the agent's own name for the call, where it tells that; else by the id of its request. */
function callIdOf({ callId, meta }: ToolUse): string {
  return cutText(stringAt(meta, "claudecode/toolUseId") ?? callId, AGENT_NAME_CHARS_MAX);
}

const RULES =
  "Another agent has delegated a task to you. Do this task and nothing else. You cannot ask that " +
  "agent anything, and it sees only what you say last: end with a full answer in words, with all " +
  "that it has to know.";
