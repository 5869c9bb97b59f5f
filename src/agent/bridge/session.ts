import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentContext } from "../../core/session/event.ts";
import type { ModelPart } from "../../core/session/state.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { AccessDecision, AgentAsk, AgentListener, AgentOffer, AgentOrder, AgentSession, AgentTurn, AskAnswer, ModelRefusal } from "../agent.ts";
import type { Asked, Serving } from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import type { UsageScope } from "../profile/profile.ts";
import { OwnFolders } from "../workspace/own-folders.ts";
import { type TerminalSetting, Terminals } from "../workspace/terminals.ts";
import type { AgentAbilities } from "./capability.ts";
import { fitServers } from "./content.ts";
import { type Errand, Errands } from "./errands.ts";
import type { Gone } from "./exit.ts";
import { Inbox } from "./inbox.ts";
import { Replay } from "./replay.ts";
import { type Callee, request } from "./request.ts";
import { Settings } from "./settings.ts";
import { ShownOutput } from "./shown-output.ts";
import { KnownToolCalls } from "./tool-calls.ts";
import { Turns } from "./turns.ts";
import type { Turnstile } from "./turnstile.ts";

/** The process behind a session, as far as the session needs it. */
export interface SessionHost extends Omit<Callee, "exit"> {
  readonly abilities: AgentAbilities;
  readonly usageScope: UsageScope;
  /** How long a call about a session may take. */
  readonly callMs: number;
  readonly faults: FaultLog;
  /** What its commands run under. */
  readonly terminals: Omit<TerminalSetting, "workspace" | "cwd" | "audit">;
  /** Where its sessions wait for their files. */
  readonly files: Turnstile;
  /** How it ended, with its last words where they can be about this session only. */
  exit(session: BridgeSession): Promise<string>;
  /** What it writes to its error output from now on is about this turn, if it has no other. */
  turnBegins(session: BridgeSession): void;
  /** The session is over; nothing that the agent says of it is passed on any more. */
  release(session: BridgeSession): void;
  /** Has the agent close a session; if it cannot, what it says of it is not heard any more. */
  forget(agentSessionId: string, isAtWork?: () => boolean): Promise<void>;
  /** It gets no further session, and ends with its last. */
  retire(): void;
  /** It goes on with a turn that was cancelled: it is retired, and if that lasts it is ended. */
  giveUpOn(isAtWork: () => boolean): void;
  kill(): Promise<void>;
}

/** How a session came to be at its agent. */
export interface Arrival {
  readonly agentSessionId: string;
  readonly context: AgentContext;
  readonly skipped: AgentOffer["skipped"];
  /** What has to be said in front of the first prompt, because nothing else could carry it. */
  readonly preface: readonly ContentBlock[];
}

/** One session at its agent: our words in ACP, and the agent's words to the listener. */
export class BridgeSession implements AgentSession {
  readonly listener: AgentListener;
  readonly order: AgentOrder;
  readonly toolCalls = new KnownToolCalls();
  readonly terminals: Terminals;
  /** What of the server's stays closed, wherever the workspace is. */
  readonly own: OwnFolders;
  readonly #host: SessionHost;
  readonly #turns: Turns;
  readonly #settings = new Settings((...call) => this.#control(...call));
  readonly #inbox = new Inbox({
    failed: (thrown) => this.#failed(thrown),
    dropped: () => this.#host.faults.add("dropped_update", this.agentSessionId),
  });
  readonly #errands: Errands;
  /** What commands write, on its way to those who look at the session. */
  readonly #output = new ShownOutput(
    (update) => void this.#inbox.add(sizeOf(update), () => this.listener.update(update)),
    (toolCallId) => this.toolCalls.get(toolCallId).content,
  );
  /** The agent is busy remembering it, and nobody has heard of it yet. */
  #isAwaited = false;
  #replay: Replay | null = null;
  #arrival: Arrival | null = null;
  #questions = 0;
  #closing: Promise<void> | null = null;
  /** Somebody has been told that it is there, and has to be told of its end. */
  #isHeard = false;
  #isOver = false;

  constructor(host: SessionHost, order: AgentOrder, listener: AgentListener) {
    this.#host = host;
    this.order = order;
    this.listener = listener;
    this.#errands = new Errands(this.#inbox, host.files);
    this.#turns = new Turns(host, {
      listener,
      sessionId: () => this.agentSessionId,
      model: () => this.#settings.model,
      tell: (act) => this.#tell(act),
      settling: () => this.#output.turnEnds(),
    });
    const { workspace, cwd } = order;
    this.own = host.terminals.own ?? OwnFolders.NONE;
    const { audit } = this;
    const audience = this.#output.terminals;
    this.terminals = new Terminals({ ...host.terminals, workspace, cwd, audit, audience });
  }

  /** Files and terminals wait for it before they act. */
  readonly audit: AgentListener["audit"] = (act, details) => this.listener.audit(act, details);

  /** Forms have no tool call, so each gets a number to be told apart by. */
  nextQuestion(): number {
    this.#questions += 1;
    return this.#questions;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Nothing more is asked of it. */
  get #isLeaving(): boolean {
    return this.#isOver || this.#closing !== null;
  }

  get agentSessionId(): string {
    return this.#arrival?.agentSessionId ?? "";
  }

  get context(): AgentContext {
    return this.#arrival?.context ?? "new";
  }

  get offer(): AgentOffer {
    const { name, version, capabilities, steer, systemPrompt } = this.#host.abilities;
    const about = { agentName: name, agentVersion: version, capabilities };
    const abilities = { canSteer: steer, takesSystemPrompt: systemPrompt };
    return { ...about, ...abilities, skipped: this.#arrival?.skipped ?? [], ...this.#settings.now };
  }

  /** The agent is about to remember it, by saying everything again or in silence. */
  awaited(isReplayed: boolean) {
    this.#isAwaited = true;
    if (!isReplayed) return;
    const { faults, connection } = this.#host;
    this.#replay = new Replay(faults, () => !connection.isPaused);
  }

  /** The agent has it: from here on what it says is news, or the rest of a replay. */
  begun(answer: JsonObject) {
    const states = this.#replay?.answered() ?? [];
    this.#isAwaited = false;
    this.#turns.replay = this.#replay;
    for (const { update, chars } of states) void this.heard(update, chars);
    this.#settings.adopt(answer);
  }

  /** The agent could not remember it, and what it said meanwhile is worth nothing. */
  notBegun() {
    this.#isAwaited = false;
    this.#replay = null;
    this.#inbox.empty();
    this.#settings.reset();
    this.toolCalls.clear();
  }

  /** From now on it can be used; what the agent said on the way here is told next. */
  arrive(arrival: Arrival) {
    this.#arrival = arrival;
    this.#turns.preface = arrival.preface;
    this.#tellNow(() => {
      this.listener.connected(this);
      this.#isHeard = true;
    });
    this.#inbox.open();
  }

  /** One update of the agent. Open while this session has more to hear than is kept for it. */
  heard(said: AgentUpdate, chars: number): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (this.#replay?.heard(said, chars)) return undefined;
    const update = this.#output.heard(said);
    const shown = this.#output.before(update);
    const isAboutUsage = this.#learn(update, chars);
    const wait = this.#inbox.add(chars, () => this.listener.update(shown));
    this.#output.after(update);
    if (isAboutUsage) this.#turns.tellUsage();
    return wait;
  }

  /** At once and not in the listener's time: asks and calls go by what the agent has said. */
  #learn(update: AgentUpdate, chars: number): boolean {
    this.#settings.learn(update);
    this.toolCalls.heard(update, chars);
    return this.#turns.heard(update);
  }

  /**
   * What the agent wants comes after all that it said before, and is given up at the end. An agent
   * that is busy remembering may need it for that, so then it comes at once.
   */
  serve(errand: Errand, asked: Asked): Serving {
    return this.#isAwaited
      ? this.#errands.atOnce(errand, asked)
      : this.#errands.inTurn(errand, asked);
  }

  /** Before anybody has heard of the session there is nobody who could be asked. */
  async ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    return this.#isAwaited ? { outcome: CANCELLED } : this.listener.ask(ask, signal);
  }

  /** Whether the server may do this for the agent. */
  async permit(access: Access, signal: AbortSignal): Promise<AccessDecision> {
    return this.listener.access(access, signal);
  }

  prompt(order: AgentTurn): Result<void> {
    if (this.#isLeaving) return sessionOver();
    const begun = this.#turns.begin(order);
    if (!begun.ok) return begun;
    this.toolCalls.clear();
    this.#host.turnBegins(this);
    return begun;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    return this.#isLeaving ? sessionOver() : this.#turns.steer(content);
  }

  cancel() {
    if (!this.#isOver) this.#turns.cancel();
  }

  setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null> {
    return this.#settings.setModelConfig(parts);
  }

  setMode(modeId: string): Promise<Result<void>> {
    return this.#settings.setMode(modeId);
  }

  setConfigOption(configId: string, value: string | boolean): Promise<Result<void>> {
    return this.#settings.setOption(configId, value);
  }

  async listSessions(): Promise<Result<readonly JsonObject[]>> {
    const method = AGENT_METHODS.listSessions;
    if (!this.#host.abilities.list) return fail("agent_unsupported", { method });
    const listed = await this.#control(method, { cwd: this.order.cwd });
    if (!listed.ok) return listed;
    const { sessions } = listed.value;
    return ok(Array.isArray(sessions) ? sessions.filter(isObject) : []);
  }

  async fork(): Promise<Result<string>> {
    const method = AGENT_METHODS.forkSession;
    const { fork, capabilities } = this.#host.abilities;
    if (!fork) return fail("agent_unsupported", { method });
    const { mcpServers } = fitServers(this.order.mcpServers, capabilities);
    const forked = await this.#control(method, { cwd: this.order.cwd, mcpServers });
    if (!forked.ok) return forked;
    const id = stringAt(forked.value, "sessionId");
    return id === null ? fail("agent_call_failed", { method, reason: "it gave no id" }) : ok(id);
  }

  async #control(
    method: string,
    params: JsonObject,
    settled?: (answer: JsonObject) => void,
  ): Promise<Result<JsonObject>> {
    if (this.#isLeaving) return sessionOver();
    const all = { sessionId: this.agentSessionId, ...params };
    return request(this.callee, method, all, this.#host.callMs, { settled });
  }

  /** Its agent, for a call in its name. */
  get callee(): Callee {
    const { connection, redacted } = this.#host;
    return { connection, redacted, exit: () => this.#host.exit(this) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Never fails: an agent that cannot close is told to stop and then forgotten. */
  async #close(): Promise<void> {
    if (this.#isOver) return;
    this.#output.turnEnds();
    this.#tellNow(() => this.listener.status({ status: "terminating" }));
    await this.#leave();
    await this.finish();
    this.#tellNow(() => this.listener.status({ status: "terminated" }));
  }

  /** Has the agent stop and close it; one that is still at work on it takes nothing else on. */
  async #leave(): Promise<void> {
    this.#turns.cancel();
    await this.#host.forget(this.agentSessionId, () => this.#turns.isAtWork);
    if (this.#turns.isAtWork) this.#host.giveUpOn(() => this.#turns.isAtWork);
  }

  async kill(): Promise<void> {
    if (!this.#isOver) await this.#host.kill();
  }

  /** Its process is gone. What that said before is told, if anybody was told of the session. */
  async lost(gone: Gone): Promise<void> {
    this.#output.turnEnds();
    this.#inbox.hurry();
    const isHeard = this.#isHeard && !this.#isLeaving;
    await this.finish();
    if (isHeard) this.#tellNow(() => this.listener.exit(gone));
  }

  /** Nothing of it is waited for any more: its words have to be read, whoever hears them. */
  hurry() {
    this.#inbox.hurry();
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    this.#replay?.end();
    this.#inbox.close();
    this.#errands.end();
    this.#output.end();
    this.#host.release(this);
    await this.terminals.endAll();
  }

  #tell(act: () => void) {
    void this.#inbox.add(0, () => {
      act();
      return undefined;
    });
  }

  /** Past all that waits: what a listener must hear even if it takes nothing else any more. */
  #tellNow(act: () => void) {
    try {
      act();
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  /**
   * Whoever listens cannot go on, so the session is given up; its neighbours are not touched. A
   * turn at work gets its verdict by the news of that (P2); if even that fails there is no more.
   */
  #failed(thrown: unknown) {
    this.#host.faults.add("failed_listener", String(thrown));
    if (this.#isOver) return;
    const isHeard = this.#isHeard && !this.#isLeaving;
    void this.finish();
    void this.#leave();
    if (isHeard) this.#tellNow(() => this.listener.exit(GIVEN_UP));
  }
}

/** The process goes on, and no words of it are about this. */
const GIVEN_UP: Gone = { exitCode: null, signalCode: null, message: "" };

/** About what an update of ours weighs among the agent's. */
function sizeOf(update: AgentUpdate): number {
  return JSON.stringify(update).length;
}

function sessionOver(): Result<never> {
  return fail("agent_gone", { exit: "this session is over" });
}
