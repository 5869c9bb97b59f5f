import type { AgentSession, Agents } from "../../src/agent/agent.ts";
import { ok, type Result } from "../../src/core/result.ts";
import type { Command } from "../../src/core/session/command.ts";
import type { Outcome, Written } from "../../src/session/actor/written.ts";
import type { SessionHost } from "../../src/session/host.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { SessionWorld } from "../../src/session/world.ts";
import type { Commit } from "../../src/store/index.ts";
import { altered, reworded, withStore } from "./altered.ts";
import { CHILD_FLAWS } from "./child-flaws.ts";
import { EXTENSION_FLAWS } from "./extension-flaws.ts";
import type { Scene } from "./scene.ts";
import { SIDE_FLAWS } from "./side-flaws.ts";

/** A fault put into a server on purpose, to see that it is found. */
export interface Flaw {
  /** What the sessions have for a world. */
  world?(world: SessionWorld, scene: Scene): SessionWorld;
  /** What clients speak to. */
  runtime?(runtime: SessionHost, scene: Scene): SessionHost;
  /** What is told to streams in place of what is durable. */
  told?(written: readonly Written[]): readonly Written[];
  /** What a client is answered, if not what the session answers. */
  reply?(live: LiveSession, command: Command): Promise<Result<Outcome>> | undefined;
  readonly forgetsToRecover?: boolean;
}

export const NO_FLAW: Flaw = {};

/** Each breaks one promise, and the lives that show it are counted. */
export const FLAWS: Readonly<Record<string, Flaw>> = {
  ...SIDE_FLAWS,
  ...EXTENSION_FLAWS,
  ...CHILD_FLAWS,
  "P1: publishes before it is durable": {
    world: withStore((store) => ({
      commit: (key, term, commit) => {
        void store.commit(key, term, commit);
        const lastEventId = commit.afterEventId + commit.events.length;
        return Promise.resolve(ok({ revision: 0, lastEventId }));
      },
    })),
  },
  "P1: replies before it is durable": {
    reply: ({ lastEventId }, command) => {
      if (command.type !== "prompt") return undefined;
      const { promptId } = command;
      const answer = { promptId, lastEventId };
      return Promise.resolve(ok({ refusal: null, answer, isNews: true, events: [], lastEventId }));
    },
  },
  "P1: tells other words than it stores": {
    told: (written) => written.map((one) => ({ ...one, text: `${one.text} ` })),
  },
  "P2: gives a verdict twice": {
    world: withStore((store) => ({
      commit: (key, term, commit) => store.commit(key, term, withSecondVerdict(commit)),
    })),
  },
  "P2: runs a prompt twice": {
    world: (world) => ({ ...world, agents: promptingTwice(world.agents) }),
  },
  "P2, P5: forgets to recover": { forgetsToRecover: true },
  "P3: tells events twice": { told: (written) => [...written, ...written] },
  "P3: leaves an event out": {
    told: (written) => (written.length > 1 ? written.slice(1) : written),
  },
  "P4: takes a step that the table does not have": {
    world: withStore((store) => ({
      commit: (key, term, commit) =>
        store.commit(key, term, reworded(commit, /"to":"running"/, `"to":"waiting"`)),
    })),
  },
  "P5: calls no timer off": {
    world: (world) => ({
      ...world,
      clock: {
        nowMs: () => world.clock.nowMs(),
        after: (ms, act) => {
          world.clock.after(ms, act);
          return () => {};
        },
      },
    }),
  },
  "P9: charges what was not reserved": {
    world: withStore((store) => ({
      commit: (key, term, commit) =>
        store.commit(key, term, reworded(commit, /"chargedMicro":/, `"chargedMicro":1`)),
    })),
  },
  "P10: does not wait for the store": {
    world: (world) => ({ ...world, agents: neverWaiting(world.agents) }),
  },
  "Hang, P2, P5: answers no more": {
    world: withStore((store, { chance }) => {
      let isStuck = false;
      return {
        commit: (key, term, commit) => {
          const committed = store.commit(key, term, commit);
          isStuck ||= chance.happens(0.02);
          return isStuck ? new Promise(() => {}) : committed;
        },
      };
    }),
  },
};

function withSecondVerdict(commit: Commit): Commit {
  const verdict = commit.events.find((text) => text.includes(`"type":"turn_complete"`));
  if (verdict === undefined) return commit;
  const id = commit.afterEventId + commit.events.length + 1;
  const again = verdict.replace(/^\{"id":\d+/, `{"id":${id}`);
  return { ...commit, events: [...commit.events, again] };
}

function promptingTwice(agents: Agents): Agents {
  const twice = (session: AgentSession): AgentSession =>
    altered(session, {
      prompt: (turn) => {
        session.prompt(turn);
        return session.prompt(turn);
      },
    });
  return altered(agents, {
    connect: (order, listener, signal) => {
      const connected = (session: AgentSession) => listener.connected(twice(session));
      return agents.connect(order, altered(listener, { connected }), signal);
    },
  });
}

function neverWaiting(agents: Agents): Agents {
  return altered(agents, {
    connect: (order, listener, signal) => {
      const update: typeof listener.update = (word) => {
        void listener.update(word);
        return undefined;
      };
      return agents.connect(order, altered(listener, { update }), signal);
    },
  });
}
