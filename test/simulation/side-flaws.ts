import type { AgentListener, AgentSession, Agents } from "../../src/agent/agent.ts";
import type { TenantId } from "../../src/core/id.ts";
import { DONE, ok } from "../../src/core/result.ts";
import { UNHELD } from "../../src/session/bus/streams.ts";
import type { SessionHost } from "../../src/session/host.ts";
import type { ShellRunner } from "../../src/session/side/shell-command.ts";
import type { SessionWorld } from "../../src/session/world.ts";
import type { Listing, SessionStore } from "../../src/store/index.ts";
import { copyByCommits } from "../../src/store/past.ts";
import { altered, reworded, withStore } from "./altered.ts";
import type { Flaw } from "./flaws.ts";
import { REAP_MS } from "./schedule.ts";
import { TENANTS } from "./words.ts";

/** Flaws in what servers do beside the turns, and in how they keep tenants and sessions apart. */
export const SIDE_FLAWS: Readonly<Record<string, Flaw>> = {
  "P2: runs a shell command twice": {
    world: withShell((shell) => ({
      run: (order, ears, signal) => {
        void shell.run(order, ears, signal);
        return shell.run(order, ears, signal);
      },
    })),
  },
  "P5: does not wait for shell commands": {
    world: withShell((shell) => ({
      run: async (order, ears) => {
        void shell.run(order, ears, NEVER);
        return { exitCode: 0, signal: null, error: null };
      },
    })),
  },
  "P1, P5: keeps no result of shell commands": {
    world: withStore((store) => ({
      commit: (key, term, commit) => {
        const otherwise = `"type":"credits_warning"`;
        const lost = reworded(commit, /"type":"user_shell_result"/, otherwise);
        return store.commit(key, term, lost);
      },
    })),
  },
  "Held: tells a verdict before its prompt is answered": {
    runtime: withRuntime((runtime) => ({
      admit: async (key, command) => {
        const admitted = await runtime.submit(key, command);
        const unheld = { eventEpoch: "", hold: UNHELD };
        return admitted.ok ? ok({ ...admitted.value, ...unheld }) : admitted;
      },
    })),
  },
  "P3: shows a replay without its last turn": {
    runtime: withRuntime((runtime) => ({
      replay: async (key, mode) => {
        const replay = await runtime.replay(key, mode);
        return replay.ok ? ok({ ...replay.value, compactedTexts: ["[]"] }) : replay;
      },
    })),
  },
  "P3: trims events that are still wanted": {
    world: withStore((store) => ({
      commit: (key, term, { snapshot, ...commit }) => {
        if (snapshot === undefined) return store.commit(key, term, commit);
        const trimThrough = Math.max(0, commit.afterEventId - 1);
        return store.commit(key, term, { ...commit, snapshot: { ...snapshot, trimThrough } });
      },
    })),
  },
  "P7: sets no model": {
    world: (world) => ({
      ...world,
      agents: deaf(world.agents, { setModelConfig: async () => null }),
    }),
  },
  "P7: sets no mode": {
    world: (world) => ({ ...world, agents: deaf(world.agents, { setMode: async () => DONE }) }),
  },
  "P1, P7: takes another model than was asked for": {
    runtime: withRuntime((runtime) => ({
      choices: altered(runtime.choices, {
        changeModel: (key, _change, actor) =>
          runtime.choices.changeModel(key, { modelId: "model-d" }, actor),
      }),
    })),
  },
  ...forkFlaws(),
  ...tenantFlaws(),
  "P10: counts no sessions": {
    world: (world) => ({ ...world, settings: { ...world.settings, sessionsLiveMax: null } }),
  },
  "P10: lets go of nothing that is idle": {
    world: (world) => {
      const { clock } = world;
      const after: typeof clock.after = (ms, act) =>
        ms === REAP_MS ? () => {} : clock.after(ms, act);
      return { ...world, clock: altered(clock, { after }) };
    },
  },
  "P5: keeps sessions that nobody knows of": {
    runtime: withRuntime(() => ({ ownerVanished: async () => {} })),
  },
  "P1: deletes nothing": {
    runtime: withRuntime((runtime) => ({
      delete: (key, actor) => runtime.heartbeat(key, actor),
    })),
  },
  "P11: knows no secret": { world: (world) => ({ ...world, redact: (text) => text }) },
  "P11: does not look at what is joined": {
    world: (world) => ({
      ...world,
      redact: (text) => (text.startsWith(`{"id":`) ? world.redact(text) : text),
    }),
  },
};

function forkFlaws(): Readonly<Record<string, Flaw>> {
  const none: Listing = { sessions: [], damaged: [], nextCursor: null };
  return {
    "P5: leaves unfinished forks": {
      world: withStore((store) => ({
        list: async (tenantId, filter, page) =>
          filter.sourceType === undefined ? store.list(tenantId, filter, page) : ok(none),
      })),
    },
    "P1: does not announce forks": {
      world: withStore((store) => ({
        commit: (key, term, commit) => {
          const otherwise = `"type":"credits_warning"`;
          return store.commit(key, term, reworded(commit, /"type":"session_branched"/, otherwise));
        },
      })),
    },
    "P3: gives two logs one epoch": {
      world: (world) => ({ ...world, ids: altered(world.ids, { epoch: () => "epoch" }) }),
    },
    "P6: forgets how a conversation began": {
      world: withStore((store) => {
        const readMessages: SessionStore["readMessages"] = async (key, range) => {
          const page = await store.readMessages(key, range);
          if (!page.ok || range.after > 0) return page;
          const [first, ...rest] = page.value.rows;
          return ok({ ...page.value, rows: rest.length === 0 && first ? [first] : rest });
        };
        // The bundled stores copy a branch without reading it.
        const copyPast: SessionStore["copyPast"] = (key, term, step) =>
          copyByCommits(altered(store, { readMessages }), key, term, step);
        return { readMessages, copyPast };
      }),
    },
    "P8: says in a session what was said aside": {
      world: (world) => ({ ...world, agents: eavesdropping(world.agents) }),
    },
  };
}

function tenantFlaws(): Readonly<Record<string, Flaw>> {
  return {
    "P8: lists another tenant's sessions": {
      world: withStore((store) => ({
        list: async (tenantId, filter, page) => {
          const own = await store.list(tenantId, filter, page);
          if (!own.ok || Object.keys(filter).length > 0) return own;
          const others = await store.list(otherThan(tenantId), filter, page);
          if (!others.ok) return others;
          return ok({ ...own.value, sessions: [...own.value.sessions, ...others.value.sessions] });
        },
      })),
    },
    "P8: finds another tenant's session": {
      runtime: withRuntime((runtime) => ({
        attach: async (key, actor) => {
          const found = await runtime.attach(key, actor);
          const other = { ...key, tenantId: otherThan(key.tenantId) };
          return found.ok ? found : runtime.attach(other, actor);
        },
      })),
    },
    "P8: takes an agent from another tenant": {
      world: (world) => ({
        ...world,
        agents: altered(world.agents, {
          connect: (order, listener, signal) => {
            const tenantId = otherThan(order.tenantId);
            return world.agents.connect({ ...order, tenantId }, listener, signal);
          },
        }),
      }),
    },
  };
}

function otherThan(tenantId: TenantId): TenantId {
  return TENANTS.find((one) => one !== tenantId) ?? tenantId;
}

const NEVER = new AbortController().signal;

function withShell(change: (shell: ShellRunner) => ShellRunner) {
  return (world: SessionWorld): SessionWorld => ({ ...world, shell: change(world.shell) });
}

function withRuntime(change: (runtime: SessionHost) => Partial<SessionHost>) {
  return (runtime: SessionHost): SessionHost => altered(runtime, change(runtime));
}

/** Agents that say yes to a setting, and have not heard it. */
function deaf(agents: Agents, yes: Partial<AgentSession>): Agents {
  const without = (session: AgentSession) => altered(session, yes);
  return altered(agents, {
    connect: (order, listener, signal) => {
      const connected = (session: AgentSession) => listener.connected(without(session));
      return agents.connect(order, altered(listener, { connected }), signal);
    },
  });
}

/** An earlier connection hears what the next one says, too. */
function eavesdropping(agents: Agents): Agents {
  let last: AgentListener | null = null;
  return altered(agents, {
    connect: (order, listener, signal) => {
      const before = last;
      last = listener;
      const update: AgentListener["update"] = (word) => {
        void before?.update(word);
        return listener.update(word);
      };
      return agents.connect(order, altered(listener, { update }), signal);
    },
  });
}
