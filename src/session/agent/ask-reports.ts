import type { AgentAsk } from "../../agent/agent.ts";
import type { Refusal } from "../../core/error.ts";
import type { AskId, ChildId, ClientId } from "../../core/id.ts";
import { withoutNulls } from "../../core/json.ts";
import { type Access, accessKey } from "../../core/policy/access.ts";
import { approvalKeys } from "../../core/policy/approval-key.ts";
import type { WorkflowOpinion } from "../../core/policy/gate.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor, Command } from "../../core/session/command.ts";
import { isAttached } from "../../core/session/workflow.ts";
import type { ExtensionSide } from "../extension/extension-side.ts";
import type { WantedCall } from "../extension/judged-calls.ts";
import type { SessionSeat } from "../participant.ts";
import { turnBound } from "../tenant/policy-check.ts";
import type { CallOpinions } from "../workflow/opinion.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { isCompletionCall } from "./agent-tools.ts";

/** Clients that have been seen since the server started. */
export type PresentClients = () => readonly ClientId[];

/** What reports need to know beside the session's state. */
export interface ReportsDeps {
  readonly present: PresentClients;
  /** Null where no session has any. */
  readonly extensions: Pick<ExtensionSide, "turnEnds" | "judgesCalls" | "judgeCall"> | null;
  /** Null where the session can have no workflow. */
  readonly opinions: CallOpinions | null;
}

/** What a command has beside what the agent wants. */
type AskJudgement = Pick<WantedCall, "bound" | "guard">;

const UNBOUND: Result<AskJudgement> = ok({});

/** Who asks: the agent of a session, or that of a child. */
interface AskingAgent {
  readonly actor: Actor;
  readonly childId?: ChildId;
  /** What the agent said before comes first. */
  interrupt(): void;
}

/** What an agent asks for, as commands to its session. */
export class AskReports {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #deps: ReportsDeps & AskingAgent;
  /** Asks for which the policy is being read. */
  readonly #unmade = new Set<AskId>();

  constructor(world: SessionWorld, seat: SessionSeat, deps: ReportsDeps & AskingAgent) {
    this.#world = world;
    this.#seat = seat;
    this.#deps = deps;
  }

  /** Answers whether the session took it; how it ends is an event. */
  async ask(requestId: AskId, ask: AgentAsk): Promise<boolean> {
    this.#deps.interrupt();
    const wanted = () => {
      const workflow = this.#opinionOf(ask);
      const about = { requestId, ...ask, ...this.#mediation(), workflow };
      return { ...this.#by(), type: "ask", ...about } as const;
    };
    // Where no more is to be known of it, an ask keeps its place among all that the agent says.
    const judged = this.#isJudged ? await this.#judged(wanted()) : UNBOUND;
    if (!judged.ok) return false;
    return (await this.#seat.submit({ ...wanted(), ...judged.value })) === null;
  }

  /** Answers when it is decided, or known that people have to; how it ends is an event. */
  async access(requestId: AskId, access: Access): Promise<"decided" | "people" | Refusal> {
    this.#deps.interrupt();
    const wanted = () => {
      const keys = [accessKey(access)];
      const workflow = this.#deps.opinions?.opinion({ keys, isCompletion: false, ...this.#whose });
      const about = { requestId, access, ...this.#mediation(), ...(workflow && { workflow }) };
      return { ...this.#by(), type: "access", ...about } as const;
    };
    const judged = this.#isJudged ? await this.#judged(wanted()) : UNBOUND;
    if (!judged.ok) return judged.refusal;
    const why = await this.#seat.submit({ ...wanted(), ...judged.value });
    const { openAsks } = this.#seat.decided.connection.turn;
    return why ?? (openAsks.has(requestId) ? "people" : "decided");
  }

  get #isJudged(): boolean {
    return this.#world.policies !== undefined || this.#deps.extensions?.judgesCalls === true;
  }

  /**
   * What binds the turn that an ask belongs to, and what the extensions of the session want of it.
   * The ask is not made if its agent has taken it back meanwhile, or if it would come into another
   * turn, which other users may have begun.
   */
  async #judged(command: WantedCall): Promise<Result<AskJudgement>> {
    const { requestId } = command;
    const { running } = this.#seat.decided;
    this.#unmade.add(requestId);
    const judged = await this.#judgement(command);
    const isWanted = this.#unmade.delete(requestId);
    const isSameTurn = this.#seat.decided.running?.turnId === running?.turnId;
    return isWanted && isSameTurn ? judged : fail("turn_not_open");
  }

  async #judgement(command: WantedCall): Promise<Result<AskJudgement>> {
    const isBound = this.#world.policies !== undefined;
    const found = isBound ? await turnBound(this.#world, this.#seat) : ok(undefined);
    if (!found.ok) return found;
    const bound = found.value === undefined ? {} : { bound: found.value };
    const whole = { ...command, ...bound };
    const guard = await this.#deps.extensions?.judgeCall(this.#seat.decided, whole);
    return ok(guard ? { ...bound, guard } : bound);
  }

  askWithdrawn(requestId: AskId, reason: Command<"ask_withdrawn">["reason"]) {
    if (this.#unmade.delete(requestId)) return;
    void this.#seat.submit({ ...this.#by(), type: "ask_withdrawn", requestId, reason });
  }

  get #whose(): { readonly childId?: ChildId } {
    const { childId } = this.#deps;
    return childId === undefined ? {} : { childId };
  }

  #opinionOf({ toolCall, known }: AgentAsk): WorkflowOpinion {
    const { opinions } = this.#deps;
    if (opinions === null || !this.#isInStage) return null;
    const call = { ...known, ...withoutNulls(toolCall) };
    const keys = approvalKeys(call, this.#seat.decided.chosen.currentCwd);
    // A child has no such tool.
    const isCompletion = this.#deps.childId === undefined && isCompletionCall(call);
    return opinions.opinion({ keys, isCompletion, ...this.#whose });
  }

  get #isInStage(): boolean {
    const { workflow, running } = this.#seat.decided;
    return isAttached(workflow) && running?.stage !== undefined;
  }

  #mediation() {
    const { policy, quorum, askMs } = this.#world.settings;
    const deadlineAtMs = askMs === null ? null : this.#world.clock.nowMs() + askMs;
    return {
      policy,
      quorum,
      present: this.#deps.present(),
      deadlineAtMs,
      ...this.#whose,
    } as const;
  }

  #by() {
    return stampedBy(this.#world.clock, this.#deps.actor);
  }
}
