import type { SessionWorld } from "../../src/session/world.ts";
import type { OfferedTool } from "../../src/tool/toolbox.ts";
import { altered, reworded, withStore } from "./altered.ts";
import type { Flaw } from "./flaws.ts";

/** Flaws in what sessions do with their children. */
export const CHILD_FLAWS: Readonly<Record<string, Flaw>> = {
  "P2: gives a verdict before its children have ended": {
    world: withStore((store) => ({
      commit: (key, term, commit) => {
        const hasVerdict = commit.events.some((text) =>
          /"type":"turn_(complete|error)"/.test(text),
        );
        const late = hasVerdict ? reworded(commit, ENDED, OTHERWISE) : commit;
        return store.commit(key, term, late);
      },
    })),
  },
  "P1: answers a call before the child's end is durable": {
    world: withDelegate((call) => (input, use) => {
      return new Promise((resolve) => {
        const text = JSON.stringify({ state: "Closed", text: "", usage: null });
        const progress = () => resolve({ isError: false, text });
        void call(input, { ...use, progress }).then(resolve);
      });
    }),
  },
  "Hang, P5: answers no call that has begun a child": {
    world: withDelegate((call) => async (input, use) => {
      const answer = await call(input, use);
      return answer.text.startsWith("{") ? new Promise(() => {}) : answer;
    }),
  },
  "P5: leaves the asks of a child open": {
    world: withStore((store) => ({
      commit: (key, term, commit) =>
        store.commit(key, term, reworded(commit, ASK_OF_CHILD_ENDED, OTHERWISE)),
    })),
  },
  "P5: leaves the agents of children": {
    world: (world) => {
      const { agents } = world;
      const connect: typeof agents.connect = async (order, listener, signal) => {
        const connected = await agents.connect(order, listener, signal);
        const isChild = order.owner === undefined && (order.toolbox ?? null) !== null;
        if (!connected.ok || !isChild) return connected;
        return { ...connected, value: altered(connected.value, { close: async () => {} }) };
      };
      return { ...world, agents: altered(agents, { connect }) };
    },
  },
  "P2: takes a late call for one of the next turn": {
    world: ({ toolboxes, ...world }) => {
      if (toolboxes === undefined) return world;
      const open: typeof toolboxes.open = (request, tools) => {
        const opened = toolboxes.open(request, tools);
        return typeof opened === "string" ? opened : { ...opened, settled: async () => {} };
      };
      return { ...world, toolboxes: altered(toolboxes, { open }) };
    },
  },
  "P10: counts no children": {
    world: (world) => {
      const { settings } = world;
      if (settings.childrenOpenMax === 0) return world;
      return { ...world, settings: { ...settings, childrenOpenMax: 4 } };
    },
  },
};

const ENDED = /"type":"child_session_ended"/;
const ASK_OF_CHILD_ENDED = /"type":"permission_resolved"(?=.*"reason":"child_ended")/;
const OTHERWISE = `"type":"credits_warning"`;

function withDelegate(change: (call: OfferedTool["call"]) => OfferedTool["call"]) {
  return ({ toolboxes, ...world }: SessionWorld): SessionWorld => {
    if (toolboxes === undefined) return world;
    const open: typeof toolboxes.open = (request, tools) => {
      const changed = tools.map((tool) => ({ ...tool, call: change(tool.call.bind(tool)) }));
      return toolboxes.open(request, changed);
    };
    return { ...world, toolboxes: altered(toolboxes, { open }) };
  };
}
