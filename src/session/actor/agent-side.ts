import type { AgentAsk, AgentPast } from "../../agent/agent.ts";
import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { type ErrorCode, type Refusal, sentenceOf } from "../../core/error.ts";
import type { AskId, ClientId, PromptId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  ACTIVATION_RETRY_MS_MAX,
  ACTIVATION_RETRY_MS_MIN,
  ACTIVATIONS_MAX,
} from "../../core/limits.ts";
import { ACCESS_REFUSED, type Access } from "../../core/policy/access.ts";
import {
  type Actor,
  type AgentStatusReport,
  type Command,
  SERVER,
} from "../../core/session/command.ts";
import type { AgentExit, SessionEvent } from "../../core/session/event.ts";
import type { AskEnd } from "../../core/session/reason.ts";
import {
  isRegistered,
  type Session,
  type SlashWork,
  steeredAs,
  type WaitingPrompt,
} from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { SessionKey } from "../../store/store.ts";
import { givenBy } from "../given-by.ts";
import { SessionCredit } from "../meter/session-credit.ts";
import type { CallOff, SessionWorld } from "../world.ts";
import { AgentLink, type AgentSetting, type LinkOwner } from "./agent-link.ts";
import type { Written } from "./written.ts";

/** What the agent's side of a session needs of the session. */
export interface AgentSideOwner {
  readonly key: SessionKey;
  /** Of the session's log. */
  readonly epoch: string;
  /** As decided so far, which may be more than is durable. */
  readonly decided: Session;
  readonly lastEventId: number;
  /** Answers with the refusal, once it is durable that there is one. */
  say(command: Command): Promise<Refusal | null>;
  /** Open while too much waits for the store. */
  room(): Promise<void> | undefined;
  /** Clients that have been seen since the server started. */
  present(): readonly ClientId[];
  /** What the agent was told and said before. */
  past(session: Session): AgentPast | null;
  /** A prompt that may be a command is next: whoever knows what it means sees to it. */
  commandNext(prompt: WaitingPrompt): void;
  audit(act: string, details: JsonObject): Promise<void>;
}

/**
 * Keeps the agent where the session's durable state wants it: connects one, gives it the turn at
 * work, tells it to stop, takes it down. And the other way round: what the agent says becomes a
 * command. An agent of an earlier activation is heard no more.
 */
export class AgentSide {
  readonly #world: SessionWorld;
  readonly #owner: AgentSideOwner;
  #link: AgentLink | null = null;
  /** The one that is being closed: until it is, there is no other. */
  #leaving: AgentLink | null = null;
  readonly #credit: SessionCredit;
  #failure: Refusal | null = null;
  /** Activations that came to nothing, one after the other. */
  #failures = 0;
  #callOffRetry: CallOff | null = null;
  #isResting = false;
  /** The prompt of which it is known that it is a turn, though it begins with a slash. */
  #turnBySlash: { readonly promptId: PromptId; readonly slash: SlashWork } | null = null;

  constructor(world: SessionWorld, owner: AgentSideOwner) {
    this.#world = world;
    this.#owner = owner;
    this.#credit = new SessionCredit(world, owner);
  }

  get link(): AgentLink | null {
    return this.#link;
  }

  get credit(): SessionCredit {
    return this.#credit;
  }

  get failure(): Refusal | null {
    return this.#failure;
  }

  rest() {
    this.#isResting = true;
  }

  follow(session: Session) {
    const state = session.connection.sessionState;
    if (this.#link !== null && this.#link.activation !== session.activation) this.#drop();
    if (state === "ready") this.#failures = 0;
    if (state === "activating" && this.#link === null) this.#connect(session);
    else if (state === "deactivating") void this.#takeDown();
    else if (state === "inactive" || state === "error") this.#drop();
    else this.#link?.follow(session);
    this.#moveOn(session);
  }

  /** What the state does not show: how an ask ended, and what was said in between. */
  hear(written: Written) {
    const { event } = written;
    this.#credit.hear(written);
    if (event.type === "permission_decided" || event.type === "permission_resolved") {
      const { requestId, outcome } = event.data;
      const answers = "answers" in event.data ? event.data.answers : undefined;
      this.#link?.asks.answer(
        requestId,
        answers === undefined ? { outcome } : { outcome, answers },
      );
      // What people decided about an access is told by an event of its own.
      if (event.type === "permission_resolved" && event.data.reason !== "vote") {
        this.#link?.asks.permitted(requestId, {
          allowed: false,
          reason: unanswered(event.data.reason),
        });
      }
    } else if (event.type === "agent_access") {
      const { requestId, allowed, by } = event.data;
      this.#link?.asks.permitted(requestId, { allowed, reason: ACCESS_REFUSED[by] });
    } else if (event.type === "mid_turn_message_injected") {
      const by = this.#senderOf(event);
      for (const { messageId, content } of event.data.items) this.#steer(messageId, content, by);
    }
  }

  async end(): Promise<void> {
    this.#callOffRetry?.();
    this.#credit.end();
    const link = this.#link;
    this.#link = null;
    await Promise.all([link?.discard(), this.#leaving?.discard()]);
  }

  /** What the agent could not take any more waits as a prompt of its own: it was promised. */
  #steer(messageId: string, content: readonly ContentBlock[], by: Actor) {
    const steered = this.#link?.steer(messageId, content);
    if (steered?.ok) return;
    const prompt = {
      promptId: this.#world.ids.prompt(),
      content,
      deadlineAtMs: null,
      idempotency: steeredAs(messageId),
      lastEventId: this.#owner.lastEventId,
      params: null,
      echo: false,
    };
    void this.#owner.say({ ...this.#by(by), type: "prompt", ...prompt });
  }

  /** Whoever said it: by their client if it is still here, for a promise outlives a client. */
  #senderOf(event: SessionEvent<"mid_turn_message_injected">): Actor {
    const clientId = event.originatorClientId ?? null;
    const userId = event.originatorUserId ?? null;
    const isHere = clientId !== null && isRegistered(this.#owner.decided, clientId, userId);
    return { kind: "client", clientId: isHere ? clientId : null, userId, loopback: false };
  }

  /** The next prompt goes to work when the agent is free, and wakes one when there is none. */
  #moveOn(durable: Session) {
    const { queue, running, connection } = this.#owner.decided;
    const [next] = queue;
    if (next === undefined || running !== null || this.#isResting) return;
    if (durable.closed || durable.ending !== null) return;
    const { promptId } = next;
    const slash = this.#turnBySlash?.promptId === promptId ? this.#turnBySlash.slash : null;
    if (slash === null && slashTextOf(next.content) !== null) {
      // What it means hangs on everything before it, so all of that has to be there.
      if (durable.queue[0]?.promptId === promptId) this.#owner.commandNext(next);
      return;
    }
    const { sessionState } = connection;
    if (sessionState === "ready") {
      this.#credit.begin(next, { ...(slash && { slash }) }, () =>
        this.#moveOn(this.#owner.decided),
      );
    } else if (sessionState === "inactive" || sessionState === "error") {
      this.#activate();
    }
  }

  /** That prompt is for the agent after all, or for a tool in its place. */
  proceed(promptId: PromptId, slash: SlashWork) {
    this.#turnBySlash = { promptId, slash };
    this.#moveOn(this.#owner.decided);
  }

  /** At once the first time; after failures with growing pauses, and a few times only. */
  #activate() {
    const activate = () => {
      // An agent may have come and gone meanwhile, and with it the pause that this retry was for.
      this.#callOffRetry?.();
      this.#callOffRetry = null;
      if (!this.#isResting) void this.#owner.say({ ...this.#by(SERVER), type: "activate" });
    };
    if (this.#failures === 0) return activate();
    const ms = Math.min(ACTIVATION_RETRY_MS_MIN * 2 ** this.#failures, ACTIVATION_RETRY_MS_MAX);
    this.#callOffRetry ??= this.#world.clock.after(ms, activate);
  }

  #connect(session: Session) {
    const link = new AgentLink(this.#world, session.activation, this.#ears(session.activation));
    this.#link = link;
    this.#failure = null;
    // What the last agent agreed to before it went is decided, and may not be durable yet.
    const { modelConfig } = this.#owner.decided.chosen;
    const wanted = { ...session, chosen: { ...session.chosen, modelConfig } };
    void link.connect(this.#owner.key, wanted, this.#owner.past(session));
  }

  async #takeDown(): Promise<void> {
    if (this.#leaving !== null) return;
    const link = this.#link;
    if (link === null) return this.#gone();
    this.#link = null;
    this.#leaving = link;
    await link.close();
    this.#leaving = null;
    if (link.agent === null) this.#gone();
  }

  /** There is no agent whose end could be waited for. */
  #gone() {
    void this.#owner.say({ ...this.#by(SERVER), type: "agent_status", status: "terminated" });
  }

  #drop() {
    void this.#link?.discard();
    this.#link = null;
  }

  /** What one agent says, in the name of its activation. */
  #ears(activation: number): LinkOwner {
    const by = (): Said => this.#by({ kind: "agent", activation });
    const say = (command: Command) => this.#owner.say(command);
    return {
      heardStatus: (report: AgentStatusReport) => {
        const { epoch } = this.#owner;
        const said = report.status === "connected" ? { ...report, epoch } : report;
        void say({ ...by(), type: "agent_status", ...said });
      },
      heardUpdate: (update: AgentUpdate) => {
        void say({ ...by(), type: "agent_update", update });
        return this.#owner.room();
      },
      heardUsage: (turnId: TurnId, usage: ContextUsage) => {
        void say({ ...by(), type: "usage", turnId, usage });
      },
      heardAsk: async (requestId: AskId, ask: AgentAsk) => {
        return (
          (await say({ ...by(), type: "ask", requestId, ...ask, ...this.#mediation() })) === null
        );
      },
      heardAccess: async (requestId: AskId, access: Access) => {
        const { workflow: _, ...mediation } = this.#mediation();
        const why = await say({ ...by(), type: "access", requestId, access, ...mediation });
        const open = this.#owner.decided.connection.turn.openAsks;
        return why ?? (open.has(requestId) ? "people" : "decided");
      },
      askWithdrawn: (requestId, reason) => {
        void say({ ...by(), type: "ask_withdrawn", requestId, reason });
      },
      heardExit: ({ exitCode, signalCode, message }: AgentExit & { readonly message: string }) => {
        const { chosen, running } = this.#owner.decided;
        if (running !== null) {
          const { sessionId } = this.#owner.key;
          const exit = `${signalCode ?? exitCode ?? "unknown"}`;
          const about = { sessionId, agent: chosen.activeAgent, exit, said: message };
          this.#world.log("agent died", about);
        }
        void say({ ...by(), type: "agent_exit", exitCode, signalCode, message });
      },
      notConnected: (why: Refusal) => this.#notConnected(why, by()),
      settingRefused: (setting, why) => this.#settingRefused(setting, why),
      instructed: (sent) => {
        void say({ ...by(), type: "instructed", ...sent });
      },
      announce: (announcement) => {
        void say({ ...this.#by(SERVER), type: "announce", announcement });
      },
      audit: (act, details) => this.#owner.audit(act, details),
    };
  }

  /** A prompt that waits is told when there is no use in waiting; else the next try may help. */
  #notConnected(why: Refusal, by: Said) {
    const message = sentenceOf(why);
    this.#failure = why;
    this.#failures += 1;
    void this.#owner.say({ ...by, type: "agent_status", status: "error", message });
    if (!FINAL.has(why.code) && this.#failures < ACTIVATIONS_MAX) return;
    this.#failures = 0;
    void this.#owner.say({ ...this.#by(SERVER), type: "agent_unavailable", message });
  }

  /** The session stays set to it (P7), and everybody is told that this agent is not. */
  #settingRefused({ setting, value }: AgentSetting, why: Refusal) {
    const by = this.#by(SERVER);
    const reason = sentenceOf(why);
    if (setting !== "mode" && setting !== "option") {
      void this.#owner.say({ ...by, type: "model", failure: { setting, value, reason } });
    } else {
      const data = { setting, value, reason };
      const announcement = { type: "agent_setting_refused", data } as const;
      void this.#owner.say({ ...by, type: "announce", announcement });
    }
  }

  #mediation() {
    const { policy, quorum, askMs } = this.#world.settings;
    const deadlineAtMs = askMs === null ? null : this.#world.clock.nowMs() + askMs;
    const present = this.#owner.present();
    return { policy, quorum, present, deadlineAtMs, workflow: null } as const;
  }

  #by(actor: Actor): Said {
    return givenBy(this.#world.clock, actor);
  }
}

/** Waiting does not mend these; somebody has to do something about the agent. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "agent_breaker_open",
  "agent_unknown",
  "agent_auth_required",
  "agent_protocol_version",
]);

function unanswered(end: AskEnd): string {
  return `the permission request for it ended without an answer (${end})`;
}

interface Said {
  readonly atMs: number;
  readonly actor: Actor;
}
