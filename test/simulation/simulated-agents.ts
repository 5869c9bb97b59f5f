import type { AgentListener, AgentSession, Agents, ConnectRequest } from "../../src/agent/agent.ts";
import { fail, ok, type Result } from "../../src/core/result.ts";
import type { AgentContext } from "../../src/core/session/event.ts";
import { Delegator } from "./delegator.ts";
import type { Scene } from "./scene.ts";
import { type AgentWatch, SimulatedAgent } from "./simulated-agent.ts";
import type { SimulatedToolboxes } from "./simulated-toolboxes.ts";
import { foreignWords } from "./words.ts";

/** The agents of one server. */
export class SimulatedAgents implements Agents {
  readonly #scene: Scene;
  readonly #server: number;
  readonly #toolboxes: SimulatedToolboxes | null;
  readonly #watch: AgentWatch;
  readonly open = new Set<SimulatedAgent>();
  #failures = 0;
  #breakerUntilMs = 0;
  readonly #shut = new AbortController();

  constructor(
    scene: Scene,
    server: number,
    toolboxes: SimulatedToolboxes | null,
    watch: Omit<AgentWatch, "over">,
  ) {
    this.#toolboxes = toolboxes;
    this.#scene = scene;
    this.#server = server;
    const over = (agent: SimulatedAgent) => this.open.delete(agent);
    this.#watch = { ...watch, over };
  }

  connect(
    order: ConnectRequest,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    return new Promise((resolve) => {
      const either = AbortSignal.any([signal, this.#shut.signal]);
      either.addEventListener("abort", () => resolve(fail("agent_connect_aborted")));
      void this.#connect(order, listener, either).then(resolve);
    });
  }

  async preheat() {}

  async dismiss() {}

  async forget() {
    return true;
  }

  async shutdown(): Promise<void> {
    this.#shut.abort();
    await this.#beat("end");
    await Promise.all([...this.open].map((agent) => agent.kill()));
  }

  async #connect(
    order: ConnectRequest,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    const { tenantId, past, cwd } = order;
    if (signal.aborted) return fail("agent_connect_aborted");
    if (this.#scene.schedule.nowMs < this.#breakerUntilMs) return this.#refusal();
    await this.#beat(`are asked for one in ${cwd}`, signal);
    if (signal.aborted) return fail("agent_connect_aborted");
    if (this.#fails()) return this.#refusal();
    listener.status({ status: "created" });
    let context: AgentContext = past === null ? "new" : "resumed";
    if (past !== null && (past.agentSessionId === null || this.#scene.chance.happens(0.5))) {
      context = "seeded";
      for await (const { text } of past.messages()) {
        if (signal.aborted) break;
        const foreign = foreignWords(text, tenantId);
        this.#scene.judge.holds(foreign === null, "P8", () => `an agent is told ${foreign}`);
      }
    }
    if (signal.aborted) return fail("agent_connect_aborted");
    await this.#beat("have one that is nearly there", signal);
    if (signal.aborted) return fail("agent_connect_aborted");
    if (this.#fails()) return this.#refusal();
    this.#failures = 0;
    const agent = new SimulatedAgent(this.#scene, listener, this.#watch, {
      name: this.#scene.ids.text("agent"),
      server: this.#server,
      context,
      tenantId,
      isThrowAway: order.owner === undefined,
      delegator: this.#delegatorOf(order),
      mode: context === "resumed" ? this.#modeLeft(past?.agentSessionId ?? null) : null,
    });
    this.open.add(agent);
    listener.connected(agent);
    return ok(agent);
  }

  #delegatorOf({ tenantId, toolbox: server, owner }: ConnectRequest): Delegator | null {
    const { children: chance } = this.#scene;
    const toolboxes = this.#toolboxes;
    const toolbox = toolboxes?.of(server) ?? null;
    if (chance === null || toolboxes === null || toolbox === null) return null;
    const place = { scene: this.#scene, chance, server: this.#server, tenantId };
    const isChild = owner === undefined;
    return new Delegator({ ...place, toolboxes, toolbox, watch: this.#watch, isChild });
  }

  #modeLeft(agentSessionId: string | null): string | null {
    return agentSessionId === null ? null : (this.#scene.modesLeft.get(agentSessionId) ?? null);
  }

  #fails(): boolean {
    const { chance, temper } = this.#scene;
    return chance.happens(temper.agentFailsToConnect);
  }

  /** After a few failures in a row all connects are refused for a while, as in the real pool. */
  #refusal(): Result<never> {
    this.#failures += 1;
    const { schedule } = this.#scene;
    if (schedule.nowMs < this.#breakerUntilMs) {
      return fail("agent_breaker_open", { profile: "simulated" });
    }
    if (this.#failures >= 3) this.#breakerUntilMs = schedule.nowMs + 1_000;
    return fail("agent_exited_early", { profile: "simulated" });
  }

  /** Resolves when its time has come, or at once when it is aborted. */
  #beat(what: string, signal?: AbortSignal): Promise<void> {
    const inMs = this.#scene.delayMs(this.#scene.temper.agentIsSlow);
    return new Promise((resolve) => {
      const { schedule } = this.#scene;
      const callOff = schedule.add("agents", what, resolve, { inMs, server: this.#server });
      signal?.addEventListener("abort", () => {
        callOff();
        resolve();
      });
    });
  }
}
