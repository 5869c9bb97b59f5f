import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { AGENT_CALL_MS_MAX, AGENT_UPDATES_HELD_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { AgentContext } from "../../core/session/event.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { AgentListener, AgentOffer, AgentOrder, AgentSession, AgentTurn } from "../agent.ts";
import type { AgentConnection, Reply } from "../connection.ts";
import { type TerminalSetting, Terminals } from "../workspace/terminals.ts";
import type { AgentAbilities, SessionSettings } from "./capability.ts";
import { optionOf, readSettings } from "./capability.ts";
import { fitContent } from "./content.ts";
import { reasonOf, request } from "./request.ts";
import { KnownToolCalls } from "./tool-calls.ts";
import { UsageMeter } from "./usage.ts";

/** The process behind a session, as far as the session needs it. */
export interface SessionHost {
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  /** What its commands run under. */
  readonly terminals: Omit<TerminalSetting, "workspace" | "cwd" | "audit">;
  /** The session is over; nothing that the agent says of it is passed on any more. */
  release(session: BridgeSession): void;
  kill(): Promise<void>;
}

/** How a session came to be at its agent. */
export interface Arrival {
  readonly agentSessionId: string;
  readonly context: AgentContext;
  readonly settings: SessionSettings;
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
  readonly #host: SessionHost;
  readonly #usage = new UsageMeter();
  #arrival: Arrival | null = null;
  #settings: SessionSettings = { modes: null, configOptions: [] };
  #held: AgentUpdate[] = [];
  #preface: readonly ContentBlock[] = [];
  #turn: AgentTurn | null = null;
  #questions = 0;
  #isOver = false;

  constructor(host: SessionHost, order: AgentOrder, listener: AgentListener) {
    this.#host = host;
    this.order = order;
    this.listener = listener;
    const { workspace, cwd } = order;
    this.terminals = new Terminals({ ...host.terminals, workspace, cwd, audit: this.audit });
  }

  /** Files and terminals wait for it before they act. */
  readonly audit: AgentListener["audit"] = (act, details) => this.listener.audit(act, details);

  /** Forms have no tool call, so each gets a number to be told apart by. */
  nextQuestion(): number {
    this.#questions += 1;
    return this.#questions;
  }

  get agentSessionId(): string {
    return this.#arrival?.agentSessionId ?? "";
  }

  get context(): AgentContext {
    return this.#arrival?.context ?? "new";
  }

  get offer(): AgentOffer {
    const { name, version, capabilities, steer } = this.#host.abilities;
    const skipped = this.#arrival?.skipped ?? [];
    const about = {
      agentName: name,
      agentVersion: version,
      capabilities,
      canSteer: steer,
      skipped,
    };
    return { ...about, ...this.#settings };
  }

  /** From now on it can be used; what the agent said on the way here is told first. */
  arrive(arrival: Arrival) {
    this.#arrival = arrival;
    this.#settings = arrival.settings;
    this.#preface = arrival.preface;
    const { agentSessionId, context } = arrival;
    this.listener.status({ status: "connected", agentSessionId, context });
    const held = this.#held;
    this.#held = [];
    for (const update of held) void this.heard(update);
  }

  /** One update of the agent. Before the session has arrived a few are kept for it. */
  heard(update: AgentUpdate): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (this.#arrival === null) {
      if (this.#held.length < AGENT_UPDATES_HELD_MAX) this.#held.push(update);
      return undefined;
    }
    this.#learn(update);
    const told = this.listener.update(update);
    if (update.sessionUpdate === "usage_update") this.#tellUsage();
    return told;
  }

  #learn(update: AgentUpdate) {
    const { sessionUpdate } = update;
    if (sessionUpdate === "usage_update") this.#usage.updated(update);
    if (sessionUpdate === "config_option_update") {
      const { configOptions } = readSettings(update);
      this.#settings = { ...this.#settings, configOptions };
    }
    this.toolCalls.heard(update);
  }

  prompt(turn: AgentTurn) {
    this.#turn = turn;
    this.#usage.turnBegins();
    this.toolCalls.clear();
    this.listener.status({ status: "turn_started" });
    const content = [...this.#preface, ...turn.content];
    this.#preface = [];
    const sent = this.#send(content, turn.params, (reply) => this.#promptEnded(turn, reply));
    if (sent.ok) return;
    const failure = { code: sent.refusal.code, message: "the agent is too busy", errorKind: null };
    this.#fail(turn, failure);
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    if (!this.#host.abilities.steer) return fail("agent_unsupported", { method: "steering" });
    // Its answer says no more than that the turn, whose verdict comes by itself, has ended.
    return this.#send(content, null, () => {});
  }

  #send(
    content: readonly ContentBlock[],
    params: JsonObject | null,
    settle: (reply: Reply) => void,
  ): Result<void> {
    const { connection, abilities } = this.#host;
    const prompt = fitContent(content, abilities.capabilities);
    const all = { ...params, sessionId: this.agentSessionId, prompt };
    return connection.call(AGENT_METHODS.prompt, all, null, settle);
  }

  #promptEnded(turn: AgentTurn, reply: Reply) {
    // Of an agent that is gone the listener hears by its exit, and that is enough.
    if (reply.kind === "closed" || reply.kind === "timeout" || this.#isOver) return;
    if (reply.kind === "error") {
      this.#fail(turn, failureOf(reply.error));
      return;
    }
    const answer = isObject(reply.result) ? reply.result : {};
    if (this.#usage.answered(answer.usage)) this.#tellUsage();
    this.#turn = null;
    const stopReason = stringAt(answer, "stopReason") ?? "end_turn";
    this.listener.status({ status: "turn_complete", turnId: turn.turnId, stopReason });
  }

  #fail({ turnId }: AgentTurn, failure: ReturnType<typeof failureOf>) {
    this.#turn = null;
    this.listener.status({ status: "turn_error", turnId, failure });
  }

  #tellUsage() {
    if (this.#turn === null) return;
    const model = optionOf(this.#settings, "model");
    const name = model === null ? null : stringAt(model, "currentValue");
    this.listener.usage(this.#turn.turnId, this.#usage.reading(name));
  }

  cancel() {
    const { agentSessionId: sessionId } = this;
    this.#host.connection.notify(AGENT_METHODS.cancel, { sessionId });
  }

  /** By the option that ACP has for it; by the call of before, where an agent has none. */
  async setModel(modelId: string): Promise<Result<void>> {
    const option = optionOf(this.#settings, "model");
    const configId = option === null ? null : stringAt(option, "id");
    if (configId !== null) return this.setConfigOption(configId, modelId);
    const set = await this.#control(AGENT_METHODS.setModel, { modelId });
    return set.ok ? DONE : set;
  }

  async setMode(modeId: string): Promise<Result<void>> {
    const option = this.#settings.modes === null ? optionOf(this.#settings, "mode") : null;
    const configId = option === null ? null : stringAt(option, "id");
    if (configId !== null) return this.setConfigOption(configId, modeId);
    const set = await this.#control(AGENT_METHODS.setMode, { modeId });
    return set.ok ? DONE : set;
  }

  async setConfigOption(configId: string, value: string | boolean): Promise<Result<void>> {
    const chosen = typeof value === "boolean" ? { type: "boolean", value } : { value };
    const set = await this.#control(AGENT_METHODS.setConfigOption, { configId, ...chosen });
    if (!set.ok) return set;
    const { configOptions } = readSettings(set.value);
    if (configOptions.length > 0) this.#settings = { ...this.#settings, configOptions };
    return DONE;
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
    if (!this.#host.abilities.fork) return fail("agent_unsupported", { method });
    const { cwd, mcpServers } = this.order;
    const forked = await this.#control(method, { cwd, mcpServers });
    if (!forked.ok) return forked;
    const id = stringAt(forked.value, "sessionId");
    return id === null ? fail("agent_call_failed", { method, reason: "it gave no id" }) : ok(id);
  }

  #control(method: string, params: JsonObject): Promise<Result<JsonObject>> {
    if (this.#isOver) return Promise.resolve(fail("agent_gone", { exit: "closed" }));
    const all = { sessionId: this.agentSessionId, ...params };
    return request(this.#host.connection, method, all, AGENT_CALL_MS_MAX);
  }

  /** Never fails: an agent that cannot close is told to stop and then forgotten. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.listener.status({ status: "terminating" });
    if (this.#turn !== null) this.cancel();
    if (this.#host.abilities.close) await this.#control(AGENT_METHODS.closeSession, {});
    await this.#finish();
    this.listener.status({ status: "terminated" });
  }

  kill(): Promise<void> {
    return this.#host.kill();
  }

  /** Its process is gone. */
  async lost(): Promise<void> {
    await this.#finish();
  }

  async #finish(): Promise<void> {
    this.#isOver = true;
    this.#host.release(this);
    await this.terminals.endAll();
  }
}

/** The wire's word for a model's answer that broke off, which agents report as `terminated`. */
const INTERRUPTED = "model_stream_interrupted";

function failureOf(error: Parameters<typeof reasonOf>[0]) {
  const { code, message, data } = error;
  const named = isObject(data) ? stringAt(data, "errorKind") : null;
  const errorKind = named ?? (message === "terminated" ? INTERRUPTED : null);
  return { code: String(code), message: reasonOf(error), errorKind };
}
