import type { AgentPast } from "../../agent/agent.ts";
import type { ContentBlock } from "../../core/agent-update.ts";
import { type ErrorCode, type Refusal, sentenceOf } from "../../core/error.ts";
import {
  ACTIVATION_RETRY_MS_MAX,
  ACTIVATION_RETRY_MS_MIN,
  ACTIVATIONS_MAX,
  AGENT_HELD_MS_MAX,
} from "../../core/limits.ts";
import { type ClientActor, SERVER, steeredAs } from "../../core/session/command.ts";
import type { SessionEvent, Skipped } from "../../core/session/event.ts";
import { isRegistered, type Session } from "../../core/session/state.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { Written } from "../actor/written.ts";
import type { ExtensionSide } from "../extension/extension-side.ts";
import type { Participant, SessionSeat } from "../participant.ts";
import { boundIn, callerSpeaker } from "../tenant/tenant-policies.ts";
import type { Stages } from "../workflow/workflow-side.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { AgentLink } from "./agent-link.ts";
import { type AgentNow, agentNow } from "./agent-modes.ts";
import { AgentReports } from "./agent-reports.ts";
import type { ReportsDeps } from "./ask-reports.ts";
import type { FilesAround } from "./briefing.ts";
import type { Delegation } from "./delegate-tool.ts";

/** Whether the start of an agent waits until the client has its answer. */
export type AgentStart = "at once" | "after the answer";

/** What the agent's side needs to know beside the session's state. */
interface AgentSideDeps extends ReportsDeps {
  /** No agent starts before they have come up; null where there are none. */
  readonly extensions: ExtensionSide | null;
  /** What the agent was told and said before; null if there is nothing. */
  past(session: Session): AgentPast | null;
  /** What could not be brought back, and what was left out since (P6). */
  skipped(): readonly Skipped[];
  /** Takes tasks of the agent; null where it cannot delegate. */
  readonly delegation: Delegation | null;
  /** The workflow of the session; null where there can be none. */
  readonly stages: Stages | null;
  /** What the files came to when the session was made, if that is now. */
  readonly files: FilesAround | null;
}

/**
 * Keeps the agent where the session's durable state wants it: connects one, gives it the turn at
 * work, stops it, takes it down. What the agent says becomes a command. An agent of an earlier
 * activation is not heard any more.
 */
export class AgentSide implements Participant {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #deps: AgentSideDeps;
  #link: AgentLink | null = null;
  /** The link that is being closed: until it is, there is no other. */
  #leaving: AgentLink | null = null;
  #failure: Refusal | null = null;
  /** Activations that failed, one after the other. */
  #failures = 0;
  #cancelRetry: CallOff | null = null;
  #isResting = false;
  /** What goes before the start of an agent. */
  readonly #holds = new Set<object>();
  /** The session as it was told last; null at the end. */
  #latest: Session | null = null;

  constructor(world: SessionWorld, seat: SessionSeat, deps: AgentSideDeps) {
    this.#world = world;
    this.#seat = seat;
    this.#deps = deps;
  }

  get link(): AgentLink | null {
    return this.#link;
  }

  /** What the agent reports of itself; null while there is none. */
  get now(): AgentNow | null {
    return agentNow(this.#link?.agent ?? null);
  }

  /** Why the last attempt to connect an agent failed, if it did. */
  get failure(): Refusal | null {
    return this.#failure;
  }

  rest() {
    this.#isResting = true;
  }

  /**
   * Until it is released, or a moment has passed, no agent starts: that takes a processor for as
   * long as the answer takes that a client waits for.
   */
  hold(): () => void {
    const hold = {};
    this.#holds.add(hold);
    const release = () => {
      callOff();
      const isLast = this.#holds.delete(hold) && this.#holds.size === 0;
      if (isLast && this.#latest !== null) this.follow(this.#latest);
    };
    const callOff = this.#world.clock.after(AGENT_HELD_MS_MAX, release);
    return release;
  }

  follow(session: Session) {
    this.#latest = session;
    const state = session.connection.sessionState;
    if (this.#link !== null && this.#link.activation !== session.activation) this.#drop();
    if (state === "ready") this.#failures = 0;
    if (state === "activating" && this.#link === null) this.#start(session);
    else if (state === "deactivating") void this.#takeDown();
    else if (state === "inactive" || state === "error") this.#drop();
    else this.#link?.follow(session);
  }

  /** What the state does not show: how an ask ended, and what was said in mid-turn. */
  durable(written: readonly Written[]) {
    for (const { event } of written) this.#react(event);
  }

  #react(event: SessionEvent) {
    if (OF_ASKS.has(event.type)) this.#link?.asks.told(event);
    if (event.type === "mid_turn_message_injected" && !event.data.takenPromptId) {
      const by = this.#senderOf(event);
      for (const { messageId, content } of event.data.items) {
        void this.#steer(messageId, content, by);
      }
    }
  }

  async end(): Promise<void> {
    this.#cancelRetry?.();
    this.#latest = null;
    const link = this.#link;
    this.#link = null;
    await Promise.all([link?.discard(), this.#leaving?.discard()]);
  }

  /** A message that the agent cannot take any more waits as a prompt of its own. */
  async #steer(messageId: string, content: readonly ContentBlock[], by: ClientActor) {
    const steered = this.#link?.steer(messageId, content);
    if (steered?.ok) return;
    const { key, decided } = this.#seat;
    const speakers = [callerSpeaker(by)];
    const found = await boundIn(this.#world, key.tenantId, speakers, decided.chosen);
    // The store is away, and the session with it: the next server has the message in its log.
    if (!found.ok) return;
    const bound = found.value && { bound: found.value };
    const prompt = {
      promptId: this.#world.ids.prompt(),
      content,
      deadlineAtMs: null,
      idempotency: steeredAs(messageId),
      lastEventId: this.#seat.lastEventId,
      params: null,
      echo: false,
    };
    const stamped = { ...stampedBy(this.#world.clock, by), ...bound };
    void this.#seat.submit({ ...stamped, type: "prompt", ...prompt });
  }

  /** The sender, by its client only if that is still registered. */
  #senderOf(event: SessionEvent<"mid_turn_message_injected">): ClientActor {
    const clientId = event.originatorClientId ?? null;
    const userId = event.originatorUserId ?? null;
    const isHere = clientId !== null && isRegistered(this.#seat.decided, clientId, userId);
    const role = event.data.authority && { role: event.data.authority.role };
    const client = { clientId: isHere ? clientId : null, userId, ...role };
    return { kind: "client", ...client, loopback: false };
  }

  /** Activates at once the first time; after failures with growing pauses, a few times only. */
  activate() {
    const activate = () => {
      // An agent may have come and gone meanwhile, and with it the pause that this retry was for.
      this.#cancelRetry?.();
      this.#cancelRetry = null;
      if (this.#isResting) return;
      const skipped = this.#deps.skipped();
      void this.#seat.submit({ ...this.#server(), type: "activate", skipped });
    };
    if (this.#failures === 0) return activate();
    const ms = Math.min(ACTIVATION_RETRY_MS_MIN * 2 ** this.#failures, ACTIVATION_RETRY_MS_MAX);
    this.#cancelRetry ??= this.#world.clock.after(ms, activate);
  }

  #start(session: Session) {
    const { extensions } = this.#deps;
    if (extensions === null || extensions.isUp) {
      if (this.#holds.size === 0) void this.#connect(session);
      return;
    }
    // The store had failed under a session that was about to wake: they were those of before.
    void extensions.bringUp().then(() => {
      if (this.#latest !== null) this.follow(this.#latest);
    });
  }

  async #connect(session: Session): Promise<void> {
    const { activation } = session;
    const reports = new AgentReports(this.#world, this.#seat, activation, this.#deps);
    const link = new AgentLink(this.#world, activation, reports, this.#deps.stages);
    this.#link = link;
    this.#failure = null;
    // What the last agent agreed to before it went is decided, and may not be durable yet.
    const { modelConfig } = this.#seat.decided.chosen;
    const wanted = { ...session, chosen: { ...session.chosen, modelConfig } };
    const files = activation === FIRST_ACTIVATION ? this.#deps.files : null;
    const why = await link.connect(
      this.#seat.key,
      wanted,
      this.#deps.past(session),
      files,
      this.#deps.delegation,
    );
    if (why !== null) this.#notConnected(why, reports);
  }

  async #takeDown(): Promise<void> {
    if (this.#leaving !== null) return;
    const link = this.#link;
    if (link === null) return this.#gone();
    this.#link = null;
    this.#leaving = link;
    const fault = await link.close().then(() => null, String);
    this.#leaving = null;
    if (fault !== null) this.#notTakenDown(fault);
    else if (link.agent === null) this.#gone();
  }

  /** The agent is in an unknown condition: `deactivating` leads to `error`. */
  #notTakenDown(message: string) {
    const by = this.#server();
    void this.#seat.submit({ ...by, type: "agent_status", status: "error", message });
  }

  /** There is no agent whose end could be waited for. */
  #gone() {
    void this.#seat.submit({ ...this.#server(), type: "agent_status", status: "terminated" });
  }

  #drop() {
    void this.#link?.discard();
    this.#link = null;
  }

  /** Fails the waiting prompts when no retry can help; else the next attempt may succeed. */
  #notConnected(why: Refusal, reports: AgentReports) {
    const message = sentenceOf(why);
    this.#failure = why;
    this.#failures += 1;
    reports.status({ status: "error", message });
    if (!FINAL.has(why.code) && this.#failures < ACTIVATIONS_MAX) return;
    this.#failures = 0;
    void this.#seat.submit({ ...this.#server(), type: "agent_unavailable", message });
  }

  #server() {
    return stampedBy(this.#world.clock, SERVER);
  }
}

/** All else is no news to what waits for an answer. */
const OF_ASKS: ReadonlySet<string> = new Set([
  "permission_decided",
  "permission_resolved",
  "agent_access",
]);

/** The one that a session is made with. */
const FIRST_ACTIVATION = 1;

/** A retry does not help with these; the operator has to do something about the agent. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "agent_breaker_open",
  "agent_unknown",
  "agent_auth_required",
  "agent_secret_missing",
  "agent_secret_unusable",
  "agent_home_unusable",
  "agent_protocol_version",
]);
