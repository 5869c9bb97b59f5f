import type { AgentAsk, TakenMessage } from "../../agent/agent.ts";
import type { AgentUpdate } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import type { AskId, ClientId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import {
  type Actor,
  type AgentStatusReport,
  type Announcement,
  type Command,
  SERVER,
} from "../../core/session/command.ts";
import type { AgentExit, InstructionsSent, UsageSuspicion } from "../../core/session/event.ts";
import { type ModelPart, messagesToTake } from "../../core/session/state.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { SessionSeat } from "../participant.ts";
import { turnBound } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { HeldText } from "./held-text.ts";
import { UsageReports } from "./usage-reports.ts";

/** Something that a session is set to, and its agent is set to in turn. */
export type AgentSetting =
  | ModelPart
  | { readonly setting: "mode" | "option"; readonly value: string };

/** Clients that have been seen since the server started. */
export type PresentClients = () => readonly ClientId[];

const UNBOUND: Result<Pick<Command, "bound">> = ok({});

/** What one activation of an agent reports, as commands to its session. */
export class AgentReports {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #agent: Actor;
  readonly #present: PresentClients;
  /** Asks for which the policy is being read. */
  readonly #unmade = new Set<AskId>();
  readonly #held: HeldText;
  readonly #usage: UsageReports;

  constructor(world: SessionWorld, seat: SessionSeat, activation: number, present: PresentClients) {
    this.#world = world;
    this.#seat = seat;
    this.#agent = { kind: "agent", activation };
    this.#present = present;
    this.#usage = new UsageReports(world, seat, this.#agent);
    this.#held = new HeldText({
      world,
      send: (update) => this.#send(update),
      redacted: () => this.#announce({ type: "secret_redacted", data: { where: "agent_update" } }),
    });
  }

  /** Nothing more is reported of what the agent said. */
  end() {
    this.#held.end();
  }

  status(report: AgentStatusReport) {
    this.#held.release();
    const { epoch } = this.#seat;
    const known = report.status === "connected" ? { ...report, epoch } : report;
    void this.#seat.submit({ ...this.#by(), type: "agent_status", ...known });
  }

  /** Pending while the session's store is behind: nothing more is read from the agent. */
  update(update: AgentUpdate): Promise<void> | undefined {
    return this.#held.pass(update);
  }

  #send(update: AgentUpdate): Promise<void> | undefined {
    const actor = this.#agent;
    this.#seat.tell({ type: "agent_update", atMs: this.#world.clock.nowMs(), actor, update });
    return this.#seat.backpressure();
  }

  usage(turnId: TurnId, usage: ContextUsage) {
    this.#usage.usage(turnId, usage);
  }

  usageSuspect(suspicion: UsageSuspicion) {
    this.#usage.suspect(suspicion);
  }

  /** Answers whether the session took it; how it ends is an event. */
  async ask(requestId: AskId, ask: AgentAsk): Promise<boolean> {
    this.#held.interrupt();
    // Without a policy an ask keeps its place among all that the agent says.
    const bound = this.#world.policies === undefined ? UNBOUND : await this.#bound(requestId);
    if (!bound.ok) return false;
    const command = { type: "ask", requestId, ...ask, ...this.#mediation() } as const;
    return (await this.#seat.submit({ ...this.#by(), ...bound.value, ...command })) === null;
  }

  /** Answers when it is decided, or known that people have to; how it ends is an event. */
  async access(requestId: AskId, access: Access): Promise<"decided" | "people" | Refusal> {
    this.#held.interrupt();
    const bound = this.#world.policies === undefined ? UNBOUND : await this.#bound(requestId);
    if (!bound.ok) return bound.refusal;
    const { workflow: _, ...mediation } = this.#mediation();
    const command = { type: "access", requestId, access, ...mediation } as const;
    const why = await this.#seat.submit({ ...this.#by(), ...bound.value, ...command });
    const { openAsks } = this.#seat.decided.connection.turn;
    return why ?? (openAsks.has(requestId) ? "people" : "decided");
  }

  /** Answers when it is durable what the agent has; none if a client was faster. */
  async takeMessages(): Promise<readonly TakenMessage[]> {
    this.#held.interrupt();
    const taken = messagesToTake(this.#seat.decided);
    const promptIds = taken.map(({ promptId }) => promptId);
    const command = { ...this.#by(), type: "take_messages", promptIds } as const;
    const why = taken.length === 0 ? null : await this.#seat.submit(command);
    return why === null ? taken : [];
  }

  hasQueuedPrompt(): boolean {
    return this.#seat.decided.queue.length > 0;
  }

  /**
   * What binds the turn that an ask belongs to. The ask is not made if its agent has taken it back
   * meanwhile, or if it would come into another turn, which other users may have begun.
   */
  async #bound(requestId: AskId): Promise<Result<Pick<Command, "bound">>> {
    const { running } = this.#seat.decided;
    this.#unmade.add(requestId);
    const bound = await turnBound(this.#world, this.#seat);
    const isWanted = this.#unmade.delete(requestId);
    const isSameTurn = this.#seat.decided.running?.turnId === running?.turnId;
    if (!isWanted || !isSameTurn) return fail("turn_not_open");
    if (!bound.ok) return bound;
    return ok(bound.value === undefined ? {} : { bound: bound.value });
  }

  askWithdrawn(requestId: AskId, reason: Command<"ask_withdrawn">["reason"]) {
    if (this.#unmade.delete(requestId)) return;
    void this.#seat.submit({ ...this.#by(), type: "ask_withdrawn", requestId, reason });
  }

  exit({ exitCode, signalCode, message }: AgentExit & { readonly message: string }) {
    this.#held.release();
    const { chosen, running } = this.#seat.decided;
    if (running !== null) {
      const { sessionId } = this.#seat.key;
      const exit = `${signalCode ?? exitCode ?? "unknown"}`;
      this.#world.log("agent died", { sessionId, agent: chosen.activeAgent, exit, said: message });
    }
    const ended = { type: "agent_exit", exitCode, signalCode, message } as const;
    void this.#seat.submit({ ...this.#by(), ...ended });
  }

  /** The agent has been told this beside the conversation. */
  instructed(sent: InstructionsSent) {
    void this.#seat.submit({ ...this.#by(), type: "instructed", ...sent });
  }

  /** The text of what the agent offers is in the store, under this hash. */
  offered(offer: string | null) {
    void this.#seat.submit({ ...this.#by(), type: "agent_offer", offer });
  }

  announce(announcement: Announcement) {
    this.#held.interrupt();
    this.#announce(announcement);
  }

  #announce(announcement: Announcement) {
    const by = stampedBy(this.#world.clock, SERVER);
    void this.#seat.submit({ ...by, type: "announce", announcement });
  }

  recordAct(act: string, details: JsonObject): Promise<void> {
    return this.#seat.recordAct(act, details);
  }

  /** The session stays set to it (P7), and all clients are told that this agent is not. */
  settingRefused({ setting, value }: AgentSetting, why: Refusal) {
    const reason = sentenceOf(why);
    if (setting === "mode" || setting === "option") {
      this.announce({ type: "agent_setting_refused", data: { setting, value, reason } });
      return;
    }
    const by = stampedBy(this.#world.clock, SERVER);
    void this.#seat.submit({ ...by, type: "model", failure: { setting, value, reason } });
  }

  #mediation() {
    const { policy, quorum, askMs } = this.#world.settings;
    const deadlineAtMs = askMs === null ? null : this.#world.clock.nowMs() + askMs;
    return { policy, quorum, present: this.#present(), deadlineAtMs, workflow: null } as const;
  }

  #by() {
    return stampedBy(this.#world.clock, this.#agent);
  }
}
