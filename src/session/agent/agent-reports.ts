import type { TakenMessage } from "../../agent/agent.ts";
import type { AgentUpdate } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  type Actor,
  type AgentStatusReport,
  type Announcement,
  SERVER,
} from "../../core/session/command.ts";
import type { UsageSuspicion } from "../../core/session/credit-event.ts";
import type { AgentExit, InstructionsSent } from "../../core/session/event.ts";
import { type ModelPart, messagesToTake } from "../../core/session/state.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { AskReports, type ReportsDeps } from "./ask-reports.ts";
import { HeldText } from "./held-text.ts";
import { UsageReports } from "./usage-reports.ts";

/** Something that a session is set to, and its agent is set to in turn. */
export type AgentSetting =
  | ModelPart
  | { readonly setting: "mode" | "option"; readonly value: string };

/** What one activation of an agent reports, as commands to its session. */
export class AgentReports {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #agent: Actor;
  /** What the agent asks for. */
  readonly asks: AskReports;
  readonly #held: HeldText;
  readonly #usage: UsageReports;
  readonly #extensions: ReportsDeps["extensions"];
  /** Ends the turn that is over for its agent, while extensions take in what it was. */
  #endTurn: (() => void) | null = null;

  constructor(world: SessionWorld, seat: SessionSeat, activation: number, deps: ReportsDeps) {
    this.#world = world;
    this.#seat = seat;
    this.#agent = { kind: "agent", activation };
    this.#extensions = deps.extensions;
    const interrupt = () => this.#held.interrupt();
    this.asks = new AskReports(world, seat, { ...deps, actor: this.#agent, interrupt });
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
    this.#endTurn?.();
    const { epoch } = this.#seat;
    const known = report.status === "connected" ? { ...report, epoch } : report;
    const tell = () => void this.#seat.submit({ ...this.#by(), type: "agent_status", ...known });
    const settling = report.status === "turn_complete" ? this.#extensions?.turnEnds(report) : null;
    if (!settling) return tell();
    this.#endTurn = () => {
      this.#endTurn = null;
      tell();
    };
    const end = this.#endTurn;
    void settling.then(() => {
      if (this.#endTurn === end) end();
    });
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

  exit({ exitCode, signalCode, message }: AgentExit & { readonly message: string }) {
    this.#held.release();
    this.#endTurn?.();
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

  #by() {
    return stampedBy(this.#world.clock, this.#agent);
  }
}
