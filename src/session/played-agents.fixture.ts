import { expect } from "vitest";
import type {
  AgentListener,
  AgentOffer,
  AgentSession,
  Agents,
  AgentTurn,
  ConnectRequest,
} from "../agent/agent.ts";
import type { AgentUpdate, ContentBlock } from "../core/agent-update.ts";
import type { Refusal } from "../core/error.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { AgentContext } from "../core/session/event.ts";
import { SessionHost } from "./host.ts";
import { ada } from "./runtime.fixture.ts";
import { type Stage, TENANT, value } from "./stage.fixture.ts";
import { CREATION } from "./world.fixture.ts";
import type { SessionWorld } from "./world.ts";

/** Agents that a test plays itself: they say what it tells them to, when it tells them. */
export class PlayedAgents implements Agents {
  /** Agents that came and went, in order. */
  readonly acts: string[] = [];
  readonly #all: PlayedAgent[] = [];
  /** What an agent does with a turn; by itself it only listens. */
  play: (agent: PlayedAgent, turn: AgentTurn) => void = () => {};
  /** Why no agent can be had, if none can. */
  refusal: Refusal | null = null;
  /** What each of them was given, with the name of its profile before it. */
  readonly given: string[] = [];
  /** The commands that those of a profile say are their own, as soon as they come. */
  commands: Readonly<Record<string, readonly string[]>> = {};
  context: AgentContext = "new";
  /** The next one is there when this is kept. */
  arriving: Promise<void> = Promise.resolve();
  /** One that is closed is gone when this is kept. */
  closing: Promise<void> = Promise.resolve();
  canSteer = false;
  /** They could take a word in between, and do not. */
  isDeaf = false;

  async connect(order: ConnectRequest, listener: AgentListener): Promise<Result<AgentSession>> {
    this.acts.push("asked for");
    if (this.refusal !== null) return { ok: false, refusal: this.refusal };
    await this.arriving;
    const agent = new PlayedAgent(this, listener, order);
    this.#all.push(agent);
    listener.connected(agent);
    const availableCommands = (this.commands[order.profile] ?? []).map((name) => ({ name }));
    if (availableCommands.length > 0) {
      void agent.update({ sessionUpdate: "available_commands_update", availableCommands });
    }
    return ok(agent);
  }

  async preheat() {}

  async dismiss() {}

  async forget() {
    return true;
  }

  async shutdown() {}

  /** The one that came last. */
  get last(): PlayedAgent {
    return this.#all.at(-1) ?? expect.fail("no agent was asked for");
  }
}

class PlayedAgent implements AgentSession {
  readonly agentSessionId = "played";
  readonly context: AgentContext;
  readonly offer: AgentOffer;
  readonly steered: (readonly ContentBlock[])[] = [];
  readonly #agents: PlayedAgents;
  readonly #listener: AgentListener;
  readonly #profile: string;
  #turn: AgentTurn | null = null;

  constructor(agents: PlayedAgents, listener: AgentListener, { profile }: ConnectRequest) {
    this.#agents = agents;
    this.#listener = listener;
    this.#profile = profile;
    this.context = agents.context;
    this.offer = {
      agentName: null,
      agentVersion: null,
      capabilities: {},
      modes: null,
      configOptions: [],
      takesSystemPrompt: false,
      canSteer: agents.canSteer,
      skipped: [],
    };
  }

  /** Resolves when it may say more. */
  async update(update: AgentUpdate): Promise<void> {
    await this.#listener.update(update);
  }

  say(text: string): Promise<void> {
    return this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  /** Asks people whether it may run something. */
  ask() {
    const options = [{ optionId: "yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "call-1", kind: "execute", rawInput: { command: "ls" } };
    const ask = { kind: "permission", toolCall, known: {}, options } as const;
    return this.#listener.ask(ask, new AbortController().signal);
  }

  /** Ends the turn that it has. */
  finish() {
    const { turnId } = this.#turn ?? expect.fail("the agent has no turn");
    this.#turn = null;
    this.#listener.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
  }

  prompt(turn: AgentTurn): Result<void> {
    this.#turn = turn;
    const texts = turn.content.map(({ text }) => String(text));
    this.#agents.given.push([this.#profile, ...texts].join(" | "));
    const { play } = this.#agents;
    setImmediate(() => play(this, turn));
    return DONE;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    if (this.#turn === null || this.#agents.isDeaf) return fail("no_turn_running");
    this.steered.push(content);
    return DONE;
  }

  cancel() {}

  async close(): Promise<void> {
    this.#listener.status({ status: "terminating" });
    await this.#agents.closing;
    this.#agents.acts.push("gone");
    this.#listener.status({ status: "terminated" });
  }

  async kill() {}
  setModelConfig = async () => null;
  setMode = async () => DONE;
  setConfigOption = async () => DONE;
  modelSettingOf = () => null;
  fork = async () => fail("agent_gone");
}

/** A runtime whose agents a test plays, and a session in it that a client has made. */
export async function playedSession(
  stage: Stage,
  agents: PlayedAgents,
  world: Partial<SessionWorld> = {},
) {
  const runtime = new SessionHost({ ...stage.world, agents, ...world });
  const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
  const creation = { ...CREATION, workspaceCwd: stage.folder };
  const { live } = value(await runtime.create({ key, creation, actor: ada }));
  return { runtime, key, live };
}
