import type {
  AgentListener,
  AgentOffer,
  AgentSession,
  AgentTurn,
  ModelRefusal,
} from "../../src/agent/agent.ts";
import { promptText } from "../../src/core/agent-update.ts";
import { parseTurnId, type TenantId } from "../../src/core/id.ts";
import { accessKey } from "../../src/core/policy/access.ts";
import { DONE, fail, ok, type Result } from "../../src/core/result.ts";
import type { AgentContext } from "../../src/core/session/event.ts";
import { WITHDRAWN } from "../../src/core/session/reason.ts";
import type { ModelPart } from "../../src/core/session/state.ts";
import type { CallOff } from "../../src/platform/clock.ts";
import { AgentSettings } from "./agent-settings.ts";
import { accessOf, askOf, chunk, script, toolCall, usageOf, type Word } from "./agent-words.ts";
import type { DelegationWatch, Delegator } from "./delegator.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import { ASIDE, isAside } from "./words.ts";

/** Observes what agents are sent. */
export interface AgentWatch extends DelegationWatch {
  prompted(agent: SimulatedAgent, turn: AgentTurn): void;
  /** An ask was answered with this option. */
  answered(optionId: string): void;
  /** It was allowed to do this, and is about to. */
  touches(key: string): void;
  asking(change: 1 | -1): void;
  over(agent: SimulatedAgent): void;
}

interface AgentPart {
  readonly name: string;
  readonly server: number;
  readonly context: AgentContext;
  readonly tenantId: TenantId;
  readonly isThrowAway: boolean;
  /** Null if it is offered no tools. */
  readonly delegator: Delegator | null;
  /** The mode that it was left in, if it remembers. */
  readonly mode: string | null;
}

/** One agent's side of a session. What it does is up to chance and to the life's temper. */
export class SimulatedAgent implements AgentSession {
  readonly agentSessionId: string;
  readonly context: AgentContext;
  readonly offer: AgentOffer;
  readonly name: string;
  readonly tenantId: TenantId;
  readonly settings: AgentSettings;
  /** It is here for one turn: for a child, or for a question beside the conversation. */
  readonly isThrowAway: boolean;
  readonly #delegator: Delegator | null;
  readonly #server: number;
  readonly #scene: Scene;
  readonly #listener: AgentListener;
  readonly #watch: AgentWatch;
  readonly #isRude: boolean;
  #turn: AgentTurn | null = null;
  #stop: (() => void) | null = null;
  #isStopped = false;
  #isClosing = false;
  #isOver = false;
  /** What it meant to do, and will not if it is over. */
  readonly #plans = new Set<CallOff>();
  readonly #gone = new AbortController();

  constructor(scene: Scene, listener: AgentListener, watch: AgentWatch, part: AgentPart) {
    this.#scene = scene;
    this.#listener = listener;
    this.#watch = watch;
    this.name = part.name;
    this.agentSessionId = part.name;
    this.context = part.context;
    this.tenantId = part.tenantId;
    this.settings = new AgentSettings(scene, part.name, part.mode);
    this.isThrowAway = part.isThrowAway;
    this.#delegator = part.delegator;
    this.#server = part.server;
    const { chance, temper } = scene;
    this.#isRude = chance.happens(temper.agentIsRude);
    const { modes } = this.settings;
    this.offer = { ...OFFER, modes, canSteer: chance.happens(0.5) };
    if (chance.happens(temper.agentDies)) this.#dieOneDay();
    if (this.#isRude) void this.#interrupt();
  }

  prompt(turn: AgentTurn): Result<void> {
    this.#watch.prompted(this, turn);
    if (this.#isOver || this.#isClosing) return GONE;
    if (this.#turn !== null) return fail("session_busy");
    const { chance, temper } = this.#scene;
    if (chance.happens(temper.agentIsBusy)) return fail("agent_busy");
    this.#turn = turn;
    this.#isStopped = false;
    void this.#play(turn);
    return DONE;
  }

  steer(): Result<void> {
    if (this.#isOver) return GONE;
    return this.#turn === null ? fail("no_turn_running") : DONE;
  }

  cancel() {
    const { chance, temper } = this.#scene;
    if (chance.happens(temper.agentIsDeaf)) return;
    this.#isStopped = true;
    this.#stop?.();
  }

  async setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null> {
    for (const part of parts) {
      const set = await this.#setModel(String(part.value));
      if (!set.ok) return { part, refusal: set.refusal, unrestored: [] };
    }
    return null;
  }

  async #setModel(modelId: string): Promise<Result<void>> {
    if (this.#isOver || this.#isClosing) return GONE;
    await this.#beat(`is told to take ${modelId}`);
    return this.#isOver ? GONE : this.settings.set("model", modelId);
  }

  async setMode(modeId: string): Promise<Result<void>> {
    if (this.#isOver || this.#isClosing) return GONE;
    const set = this.settings.set("mode", modeId);
    await this.#beat(`answers to mode ${modeId}`);
    return this.#isOver ? GONE : set;
  }

  setConfigOption = async () => DONE;
  modelSettingOf = () => null;
  listSessions = async () => ok([]);

  async fork(): Promise<Result<string>> {
    if (this.#isOver || this.#isClosing) return GONE;
    await this.#beat("is asked for a copy of itself");
    if (this.#isOver) return GONE;
    const { chance, ids } = this.#scene;
    if (chance.happens(0.5)) return fail("agent_unsupported", { method: "session/fork" });
    return ok(ids.text("copy"));
  }

  async close(): Promise<void> {
    if (this.#isOver || this.#isClosing) return;
    this.#isClosing = true;
    this.#turn = null;
    this.#gone.abort();
    this.#listener.status({ status: "terminating" });
    await this.#beat("takes its leave");
    if (this.#isRude) await this.#stray();
    if (this.#isOver) return;
    this.#end();
    this.#listener.status({ status: "terminated" });
    if (this.#isRude) await this.#stray();
  }

  async kill(): Promise<void> {
    if (this.#isOver) return;
    await this.#beat("is killed");
    this.#exit(null, "SIGKILL");
  }

  #exit(exitCode: number | null, signalCode: string | null) {
    if (this.#isOver) return;
    this.#end();
    this.#gone.abort();
    if (this.#isClosing) this.#listener.status({ status: "terminated" });
    else this.#listener.exit({ exitCode, signalCode, message: "simulated" });
    if (this.#isRude) void this.#stray();
  }

  #end() {
    this.#isOver = true;
    this.#turn = null;
    for (const callOff of this.#plans) callOff();
    this.#watch.over(this);
  }

  async #play(turn: AgentTurn): Promise<void> {
    const { chance, temper } = this.#scene;
    const isMine = () => this.#turn === turn;
    await this.#plan(`begins ${turn.turnId}: ${promptText(turn.content)}`);
    if (isMine()) this.#listener.status({ status: "turn_started" });
    const words = script(chance, temper.agentHangs);
    for (const word of this.#delegator?.among(words) ?? words) {
      await this.#plan(this.#isStopped ? "stops" : word);
      if (!isMine()) return;
      if (this.#isStopped) return this.#complete(turn, "cancelled");
      await this.#act(word, turn);
      if (!isMine()) return;
    }
  }

  async #act(word: Word, turn: AgentTurn): Promise<void> {
    const { chance } = this.#scene;
    if (word === "chunk") await this.#say(turn);
    else if (word === "tool") await this.#listener.update(toolCall(turn.turnId, false));
    else if (word === "tool end") await this.#listener.update(toolCall(turn.turnId, true));
    else if (word === "title") await this.#entitle();
    else if (word === "usage") this.#listener.usage(turn.turnId, usageOf(chance));
    else if (word === "ask") await this.#ask();
    else if (word === "ask aside") void this.#ask();
    else if (word === "touch") await this.#touch();
    else if (word === "delegate") await this.#delegate(turn);
    else if (word === "delegate aside") void this.#delegate(turn);
    else if (word === "flood") await this.#flood();
    else if (word === "hang") await this.#hang();
    else if (word === "complete") this.#complete(turn, "end_turn");
    else if (word === "refuse") this.#refuse(turn);
    else this.#exit(1, null);
  }

  async #delegate({ turnId }: AgentTurn): Promise<void> {
    await this.#delegator?.delegate(turnId, this.#gone.signal);
  }

  #complete({ turnId }: AgentTurn, stopReason: string) {
    this.#turn = null;
    void this.#delegator?.late(turnId, this.#gone.signal);
    this.#listener.status({ status: "turn_complete", turnId, stopReason });
    if (!this.#isRude) return;
    this.#listener.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
  }

  #refuse({ turnId }: AgentTurn) {
    this.#turn = null;
    const { chance } = this.#scene;
    const errorKind = chance.pick([null, "overloaded"]);
    const failure = { code: "-32000", message: "not today", errorKind };
    this.#listener.status({ status: "turn_error", turnId, failure });
  }

  async #say({ content }: AgentTurn) {
    const kind = isAside(content) ? ASIDE : "text";
    for (const text of this.#scene.words.pieces(kind, this.tenantId)) {
      await this.#listener.update(chunk(text));
    }
  }

  async #entitle() {
    const title = this.#scene.words.text("title", this.tenantId);
    await this.#listener.update({ sessionUpdate: "session_info_update", title });
  }

  async #ask(): Promise<void> {
    const { chance, ids, schedule } = this.#scene;
    const ask = askOf(chance, ids.text("wish"));
    const withdrawal = new AbortController();
    const signal = AbortSignal.any([withdrawal.signal, this.#gone.signal]);
    this.#watch.asking(1);
    if (chance.happens(0.05)) {
      void this.#plan("withdraws its ask", 20).then(() => withdrawal.abort(WITHDRAWN));
    }
    const { outcome } = await this.#listener.ask(ask, signal);
    this.#watch.asking(-1);
    const said = outcome.outcome === "selected" ? outcome.optionId : "cancelled";
    schedule.say(this.name, `is answered ${said}`);
    if (outcome.outcome === "selected") this.#watch.answered(outcome.optionId);
  }

  /** The act waits for leave and for its audit, and does not happen without them. */
  async #touch(): Promise<void> {
    const { chance, ids, schedule } = this.#scene;
    const access = accessOf(chance, ids.text("file"));
    this.#watch.asking(1);
    const decision = await this.#listener.access(access, this.#gone.signal);
    const { allowed } = "people" in decision ? await decision.people : decision;
    this.#watch.asking(-1);
    schedule.say(this.name, `${allowed ? "may" : "may not"} ${access.action}`);
    if (!allowed) return;
    this.#watch.touches(accessKey(access));
    await this.#listener.audit(access.action, { key: accessKey(access) }).catch(() => {});
  }

  /** Much more than the store takes at once; a listener that is full makes it wait. */
  async #flood(): Promise<void> {
    for (let count = 0; count < 20 && this.#turn !== null; count += 1) {
      await this.#listener.update(chunk("x".repeat(700 * 1_024)));
    }
  }

  #hang(): Promise<void> {
    return new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  #dieOneDay() {
    const inMs = this.#scene.chance.pick([0, 3, 30, 300, 3_000]);
    const die = () => this.#exit(9, null);
    void this.#plan("dies", inMs).then(die);
  }

  /** A word out of turn now and then, as long as it lives. */
  async #interrupt(): Promise<void> {
    const { chance } = this.#scene;
    for (let count = chance.under(4); count > 0; count -= 1) {
      await this.#plan("is about to interrupt", chance.pick([0, 2, 20, 200]));
      if (this.#isOver) return;
      await this.#stray();
    }
  }

  async #stray(): Promise<void> {
    const { chance, schedule } = this.#scene;
    const listener = this.#listener;
    const turnId = this.#turn?.turnId ?? NO_TURN;
    const failure = { code: "odd", message: "out of turn", errorKind: null };
    const strays: readonly (readonly [string, () => unknown])[] = [
      ["an update", () => listener.update(chunk("out of turn"))],
      ["many updates", () => this.#burst()],
      ["usage", () => listener.usage(NO_TURN, usageOf(chance))],
      ["another turn's end", () => listener.status(NO_TURN_ENDS)],
      ["created", () => listener.status({ status: "created" })],
      ["turn_started", () => listener.status({ status: "turn_started" })],
      ["question_requested", () => listener.status({ status: "question_requested" })],
      ["approval_resolved", () => listener.status({ status: "approval_resolved" })],
      ["an error", () => listener.status({ status: "error", message: "odd" })],
      ["terminating", () => listener.status({ status: "terminating" })],
      ["terminated", () => listener.status({ status: "terminated" })],
      ["no turn's error", () => listener.status({ status: "turn_error", turnId: null, failure })],
      ["a refusal", () => listener.status({ status: "turn_error", turnId, failure })],
      ["an ask", () => void this.#ask()],
    ];
    const stray = chance.among(strays);
    schedule.say(this.name, `says out of turn: ${stray?.[0]}`);
    await stray?.[1]();
  }

  /** More than a log takes between turns without a snapshot of its own. */
  async #burst(): Promise<void> {
    const count = this.#scene.chance.happens(0.1) ? 600 : 5;
    for (let index = 0; index < count; index += 1) await this.#listener.update(chunk("more"));
  }

  /** Something that it does only as long as it lives. */
  #plan(what: string, inMs = this.#delayMs): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isOver) return;
      const { schedule } = this.#scene;
      const callOff = schedule.add(this.name, what, resolve, { inMs, server: this.#server });
      this.#plans.add(callOff);
    });
  }

  /** Something that is over at the latest when it is. */
  #beat(what: string): Promise<void> {
    return new Promise((resolve) => {
      const more = { inMs: this.#delayMs, server: this.#server };
      const callOff = this.#scene.schedule.add(this.name, what, resolve, more);
      this.#plans.add(() => {
        callOff();
        resolve();
      });
    });
  }

  get #delayMs(): number {
    return this.#scene.delayMs(this.#scene.temper.agentIsSlow);
  }
}

const GONE: Result<never> = fail("agent_gone", { exit: "over" });

const NO_TURN = made(parseTurnId, "no-such-turn");
const NO_TURN_ENDS = { status: "turn_complete", turnId: NO_TURN, stopReason: "end_turn" } as const;

const OFFER: AgentOffer = {
  agentName: "simulated",
  agentVersion: null,
  capabilities: {},
  modes: null,
  configOptions: [],
  takesSystemPrompt: false,
  canSteer: false,
  skipped: [],
};
