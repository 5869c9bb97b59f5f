import type { AgentListener, AgentSession, Agents, AgentTurn } from "../src/agent/agent.ts";
import { DONE, fail, ok } from "../src/core/result.ts";

/** What an agent has to say in a turn. */
export type Speech = (say: (text: string) => Promise<void> | undefined) => Promise<void>;

/** Agents that say what a trial wants, at once and in this process: they cost next to nothing. */
export class SpeakingAgents implements Agents {
  speech: Speech = async () => {};

  async connect(...[, listener]: Parameters<Agents["connect"]>) {
    const session = sessionWith(listener, (turn) => void this.#speak(listener, turn));
    listener.connected(session);
    return ok(session);
  }

  async preheat() {}
  async dismiss() {}
  async shutdown() {}

  async #speak(listener: AgentListener, { turnId }: AgentTurn): Promise<void> {
    await this.speech((text) => {
      const content = { type: "text", text };
      return listener.update({ sessionUpdate: "agent_message_chunk", content });
    });
    listener.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
  }
}

const OFFER = {
  agentName: null,
  agentVersion: null,
  capabilities: {},
  modes: null,
  configOptions: [],
  takesSystemPrompt: false,
  canSteer: false,
  skipped: [],
};

function sessionWith(listener: AgentListener, begin: (turn: AgentTurn) => void): AgentSession {
  return {
    agentSessionId: "speaking",
    context: "new",
    offer: OFFER,
    prompt(turn) {
      setImmediate(begin, turn);
      return DONE;
    },
    async close() {
      listener.status({ status: "terminated" });
    },
    ...NOTHING_ELSE,
  };
}

const done = async () => DONE;

const NOTHING_ELSE = {
  steer: () => DONE,
  cancel: () => {},
  kill: async () => {},
  setModelConfig: async () => null,
  setMode: done,
  setConfigOption: done,
  listSessions: async () => ok([]),
  fork: async () => fail("agent_gone"),
};
