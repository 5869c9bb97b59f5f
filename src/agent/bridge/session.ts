import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentContext } from "../../core/session/event.ts";
import type { ModelPart, ModelSetting } from "../../core/session/state.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type {
  AgentAsk,
  AgentGone,
  AgentListener,
  AgentOffer,
  AgentSession,
  AgentTurn,
  AskAnswer,
  ConnectRequest,
  ModelRefusal,
} from "../agent.ts";
import type { RequestContext, Serving } from "../connection.ts";
import type { WorkspaceFiles } from "../workspace/files.ts";
import type { OwnFolders } from "../workspace/location.ts";
import { Terminals } from "../workspace/terminals.ts";
import { type AgentRequest, AgentRequests } from "./agent-requests.ts";
import { KnownToolCalls } from "./ask.ts";
import { fitServers } from "./capability.ts";
import type { AgentHost } from "./host.ts";
import { Inbox } from "./inbox.ts";
import type { OpenPages } from "./pages.ts";
import { PlainUpdates } from "./plain-updates.ts";
import { AgentReplay } from "./replay.ts";
import { type Callee, request } from "./request.ts";
import { Settings } from "./settings.ts";
import { ShownOutput } from "./shown-output.ts";
import { Turns } from "./turns.ts";

/** How the agent has opened a session. */
export interface Arrival {
  readonly agentSessionId: string;
  readonly context: AgentContext;
  readonly skipped: AgentOffer["skipped"];
  /** Text for the first prompt, because nothing else could carry it. */
  readonly preface: readonly ContentBlock[];
}

/** One session at its agent: makes the calls, and passes the agent's messages to the listener. */
export class BridgeSession implements AgentSession {
  readonly listener: AgentListener;
  readonly request: ConnectRequest;
  readonly toolCalls = new KnownToolCalls();
  readonly terminals: Terminals;
  /** The server's own folders, which stay closed in every workspace. */
  readonly own: OwnFolders;
  /** Uses files with the rights of the agent's user. */
  readonly files: WorkspaceFiles;
  readonly #host: AgentHost;
  readonly turns: Turns;
  readonly #settings = new Settings(
    (...call) => this.#control(...call),
    (offer) => this.#host.offers.shared(offer),
  );
  readonly #inbox = new Inbox({
    failed: (thrown) => this.#failed(thrown),
    dropped: () => this.#host.faults.add("dropped_update", this.agentSessionId),
  });
  readonly #requests: AgentRequests;
  /** Shows the output of commands to the clients of the session. */
  readonly #output = new ShownOutput(
    (update) => this.#sendOwn(update),
    (toolCallId) => this.toolCalls.get(toolCallId).content,
  );
  /** Repeats what not every client shows. */
  readonly #plain = new PlainUpdates((update) => this.#sendOwn(update));
  /** The agent is restoring it, and the listener does not know of it yet. */
  #isRestoring = false;
  #replay: AgentReplay | null = null;
  #arrival: Arrival | null = null;
  #questions = 0;
  #closing: Promise<void> | null = null;
  /** The listener got `connected`, and so has to get its end. */
  #isConnected = false;
  #isOver = false;

  constructor(host: AgentHost, request: ConnectRequest, listener: AgentListener) {
    this.#host = host;
    this.request = request;
    this.listener = listener;
    this.#requests = new AgentRequests(this.#inbox, host.fileCalls);
    this.turns = new Turns(host, {
      ...{ listener, request },
      sessionId: () => this.agentSessionId,
      model: () => this.#settings.model,
      deliver: (call) => this.#deliver(call),
      turnEnds: () => this.#turnEnds(),
      close: () => this.close(),
    });
    const { workspace, cwd } = request;
    this.own = host.terminals.own;
    this.files = host.files;
    const [audit, observer] = [this.audit, this.#output.terminals];
    this.terminals = new Terminals({ ...host.terminals, workspace, cwd, audit, observer });
  }

  /** Files and terminals wait for this before they act. */
  readonly audit: AgentListener["audit"] = (act, details) => this.listener.audit(act, details);

  get host(): AgentHost {
    return this.#host;
  }

  /** Forms and pages have no tool call, so each gets a number. */
  nextQuestion(): string {
    this.#questions += 1;
    return `question-${this.#questions}`;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  get pages(): OpenPages {
    return this.#host.pages;
  }

  /** No further call is made for it. */
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
    const { now, model } = this.#settings;
    return { ...about, ...abilities, skipped: this.#arrival?.skipped ?? [], ...now, model };
  }

  /** The agent is about to restore it, with a replay of the conversation or without. */
  restoring(isReplayed: boolean) {
    this.#isRestoring = true;
    if (!isReplayed) return;
    const { faults, connection } = this.#host;
    this.#replay = new AgentReplay(faults, () => !connection.isPaused);
  }

  /** The agent has it: from here on its messages are new, or the rest of a replay. */
  begun(answer: JsonObject) {
    const states = this.#replay?.answered() ?? [];
    if (this.#isRestoring) this.turns.restored();
    this.#isRestoring = false;
    this.turns.replay = this.#replay;
    for (const { update, chars } of states) void this.receive(update, chars);
    this.#settings.adopt(answer);
  }

  /** The agent could not restore it: what it sent meanwhile is dropped. */
  notRestored() {
    this.#isRestoring = false;
    this.#replay = null;
    this.#inbox.empty();
    this.#settings.reset();
    this.toolCalls.clear();
  }

  /** From now on it can be used; what the agent sent before is delivered next. */
  arrive(arrival: Arrival) {
    this.#arrival = arrival;
    this.turns.preface = arrival.preface;
    this.#callNow(() => {
      this.listener.connected(this);
      this.#isConnected = true;
    });
    this.#inbox.open();
  }

  /** Takes one update of the agent. The promise is open while too much is waiting. */
  receive(received: AgentUpdate, chars: number): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (this.#replay?.takes(received, chars)) return undefined;
    const update = this.#output.withoutClaims(received);
    const shown = this.#output.before(update);
    const isAboutUsage = this.#learn(update, chars);
    const wait = this.#inbox.add(chars, () => this.listener.update(shown));
    this.#output.after(update);
    this.#plain.after(update);
    if (isAboutUsage) this.turns.deliverUsage();
    return wait;
  }

  /** At once and not in the listener's order: asks and calls depend on the latest state. */
  #learn(update: AgentUpdate, chars: number): boolean {
    this.#settings.learn(update);
    this.toolCalls.learn(update, chars);
    return this.turns.learn(update);
  }

  /**
   * Serves a request after all that the agent sent before. An agent that is restoring the session
   * may need the answer for that, so then it is served at once.
   */
  serve(request: AgentRequest, context: RequestContext): Serving {
    if (this.#isRestoring) return this.#requests.atOnce(request, context);
    this.#plain.requested();
    return this.#requests.inOrder(request, context);
  }

  /** While the agent restores the session, no client could answer. */
  async ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    return this.#isRestoring ? { outcome: CANCELLED } : this.listener.ask(ask, signal);
  }

  /** Tells clients of something that the agent waits for no answer to. */
  notify(update: AgentUpdate) {
    this.#sendOwn(update);
    this.#plain.after(update);
  }

  prompt(turn: AgentTurn): Result<void> {
    if (this.#isLeaving) return sessionOver();
    const begun = this.turns.begin(turn);
    if (!begun.ok) return begun;
    this.toolCalls.clear();
    this.#host.turnBegins(this);
    return begun;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    return this.#isLeaving ? sessionOver() : this.turns.steer(content);
  }

  cancel() {
    if (!this.#isOver) this.turns.cancel();
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

  modelSettingOf(configId: string): ModelSetting | null {
    return this.#settings.modelSettingOf(configId);
  }

  async fork(): Promise<Result<string>> {
    const method = AGENT_METHODS.forkSession;
    const { fork, capabilities } = this.#host.abilities;
    if (!fork) return fail("agent_unsupported", { method });
    const { mcpServers } = fitServers(this.request.mcpServers, capabilities);
    const forked = await this.#control(method, { cwd: this.request.cwd, mcpServers });
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
    return request(this.callee, method, all, this.#host.profile.limits.callMs, { settled });
  }

  /** Its agent, for a call about this session. */
  get callee(): Callee {
    const { connection, redacted } = this.#host;
    return { connection, redacted, exit: () => this.#host.exit(this) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Never throws: an agent that does not close a session is told to stop, and then ignored. That
   * its condition is unknown is reported as an error instead of an end.
   */
  async #close(): Promise<void> {
    if (this.#isOver) return;
    this.#turnEnds();
    this.#callNow(() => this.listener.status({ status: "terminating" }));
    const fault = await this.#leave();
    const unfinished = await this.finish().then(() => null, String);
    const message = fault === null ? unfinished : sentenceOf(fault);
    this.#callNow(() => {
      if (message === null) this.listener.status({ status: "terminated" });
      else this.listener.status({ status: "error", message });
    });
  }

  /** Has the agent stop and close it. An agent that goes on gets no further session. */
  async #leave(): Promise<Refusal | null> {
    this.turns.cancel();
    const isRunning = () => this.turns.isRunning;
    const fault = await this.#host.closeSession(this.agentSessionId, isRunning);
    if (isRunning()) this.#host.retireStray(isRunning);
    return fault;
  }

  async kill(): Promise<void> {
    if (!this.#isOver) await this.#host.kill();
  }

  /** Its process has ended. Delivers what the agent sent before, and then `exit`. */
  async lost(gone: AgentGone): Promise<void> {
    this.#turnEnds();
    this.#inbox.hurry();
    const isKnown = this.#isConnected && !this.#isLeaving;
    await this.finish();
    if (isKnown) this.#callNow(() => this.listener.exit(gone));
  }

  /** Delivers all that waits without waiting for the listener: the process is ending. */
  hurry() {
    this.#inbox.hurry();
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    this.turns.deliverHeldCost();
    this.#replay?.end();
    this.#inbox.close();
    this.#requests.end();
    this.#output.end();
    this.#host.release(this);
    await this.terminals.endAll();
  }

  /** Delivers an update that the server made, after all that the agent sent before. */
  #sendOwn(update: AgentUpdate) {
    const chars = JSON.stringify(update).length;
    void this.#inbox.add(chars, () => this.listener.update(update));
  }

  /** Sends what has to come before the verdict. */
  #turnEnds() {
    this.#output.turnEnds();
    this.#plain.turnEnds();
    this.turns.deliverHeldCost();
  }

  #deliver(call: () => void) {
    void this.#inbox.add(0, () => {
      call();
      return undefined;
    });
  }

  /** Before all that waits: for what the listener must get even if it takes nothing else. */
  #callNow(call: () => void) {
    try {
      call();
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  /**
   * The listener cannot go on, so the session is given up; other sessions of the process go on. A
   * running turn gets its verdict by `exit` (P2); if even that fails there is no more.
   */
  #failed(thrown: unknown) {
    this.#host.faults.add("failed_listener", String(thrown));
    if (this.#isOver) return;
    const isKnown = this.#isConnected && !this.#isLeaving;
    void this.finish();
    void this.#leave();
    if (isKnown) this.#callNow(() => this.listener.exit(GIVEN_UP));
  }
}

/** The process goes on, and its error output is not about this. */
const GIVEN_UP: AgentGone = { exitCode: null, signalCode: null, message: "" };

function sessionOver(): Result<never> {
  return fail("agent_gone", { exit: "this session is over" });
}
