import { CHILDREN_OPEN_MAX, CHILDREN_PER_TURN_MAX } from "../limits.ts";
import { NO_TOKENS } from "../price.ts";
import type { ChildOutcome } from "./child.ts";
import type { CommandData, CommandType } from "./command.ts";
import { childId, newAsk } from "./life.fixture.ts";
import { one, type Situation } from "./situation.fixture.ts";

type ChildCommand = Extract<CommandType, `${string}child${string}`>;

export const K1 = childId("k1");

/** What a child of this id is begun with. */
export function begins(id: string, more: Partial<CommandData["start_child"]["child"]> = {}) {
  const child = {
    childId: childId(id),
    callId: `call of ${id}`,
    title: "look",
    task: "look around",
    agent: "chat",
    model: null,
    readOnly: false,
    price: null,
    deadlineAtMs: 60_000,
    ...more,
  };
  return { child, openMax: CHILDREN_OPEN_MAX, perTurnMax: CHILDREN_PER_TURN_MAX };
}

/** An ask of the first child. */
export const asksOf = (id: string, more: Parameters<typeof newAsk>[1] = {}) =>
  newAsk(id, { childId: K1, ...more });

export const EDIT = {
  toolCallId: "c1",
  kind: "edit",
  title: "Edit",
  locations: [{ path: "/a.ts" }],
};

/** What the properties try with children. */
export const CHILD_COMMANDS: {
  readonly [Type in ChildCommand]: (at: Situation) => CommandData[Type];
} = {
  start_child: ({ step, pick, odd }) => ({
    openMax: pick % 9 === 0 ? 1 : 4,
    perTurnMax: pick % 7 === 0 ? 2 : 32,
    child: {
      childId: childId(`k${step}`),
      callId: pick % 5 === 0 ? `call-${pick % 3}` : `call of ${step}`,
      title: "look around",
      task: pick % 17 === 0 ? " " : "look around",
      agent: odd ? "echo" : "chat",
      model: odd ? null : "small",
      readOnly: pick % 3 === 0,
      price: pick % 4 === 0 ? { ...NO_TOKENS, input: 2_000_000, perTurn: 3 } : null,
      deadlineAtMs: (step + (pick % 4)) * 1_000,
    },
  }),
  child_update: (at) => ({ childId: someChild(at), update: someWord(at) }),
  child_usage: (at) => ({
    childId: someChild(at),
    tokensMax: at.pick % 7 === 0 ? 100 : 1_000_000,
    usage: {
      model: at.odd ? "small" : null,
      used: null,
      size: null,
      tokens: { ...NO_TOKENS, input: at.pick % 19 === 0 ? -1 : at.pick },
      ...(at.pick % 4 === 0 && { costMicro: at.pick }),
    },
  }),
  child_ended: (at) => ({
    childId: someChild(at),
    outcome: one<ChildOutcome>(
      [
        { state: "Closed", text: "done" },
        { state: "Halted", text: "", error: { code: "stopped_short", message: "stopped" } },
        { state: "Aborted", text: "", error: { code: "channel_closed", message: "gone" } },
      ],
      at.pick,
    ),
  }),
};

/** A child of the turn, ended or not, and now and then one that never was. */
export function someChild({ life, pick }: Situation) {
  const known = [...(life.session?.connection.turn.children.keys() ?? [])];
  return known[pick % (known.length + 1)] ?? childId("k-unknown");
}

/** Now and then it is a child that asks. */
export function someAsker(at: Situation) {
  return at.pick % 3 === 0 ? { childId: someChild(at) } : {};
}

function someWord({ pick, odd }: Situation): CommandData["child_update"]["update"] {
  const toolCallId = `call-${pick % 4}`;
  const updates = [
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "word " } },
    { sessionUpdate: "tool_call", toolCallId, title: "Edit" },
    { sessionUpdate: "tool_call_update", toolCallId, status: odd ? "completed" : "in_progress" },
    { sessionUpdate: "session_info_update", title: "of a child" },
  ];
  return updates[pick % 4] ?? { sessionUpdate: "plan", entries: [] };
}
