import type { AgentAsk } from "../../src/agent/agent.ts";
import type { AgentUpdate } from "../../src/core/agent-update.ts";
import type { Access } from "../../src/core/policy/access.ts";
import { NO_TOKENS } from "../../src/core/price.ts";
import type { ContextUsage } from "../../src/core/turn.ts";
import type { Chance, Some } from "./chance.ts";

/** What an agent may do within a turn, one after the other. */
export type Word =
  | "chunk"
  | "tool"
  | "tool end"
  | "title"
  | "usage"
  | "ask"
  | "ask aside"
  | "touch"
  | "delegate"
  | "delegate aside"
  | "flood"
  | "hang"
  | "complete"
  | "refuse"
  | "exit";

const WORDS: Some<readonly [Word, number]> = [
  ["chunk", 12],
  ["tool", 3],
  ["tool end", 2],
  ["title", 1],
  ["usage", 3],
  ["ask", 4],
  ["ask aside", 1],
  ["touch", 2],
];

/** A turn as an agent means to play it. The last word is its end, as the agent sees it. */
export function script(chance: Chance, hangs: number): readonly Word[] {
  const words = Array.from({ length: chance.under(6) }, () => chance.weighed(WORDS));
  if (chance.happens(0.002)) words.push("flood");
  if (chance.happens(hangs)) words.push("hang");
  words.push(
    chance.weighed<Word>([
      ["complete", 8],
      ["refuse", 2],
      ["exit", 0],
    ]),
  );
  return words;
}

export function chunk(text: string): AgentUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

export function toolCall(toolCallId: string, isEnd: boolean): AgentUpdate {
  const call = { toolCallId, title: "Read", kind: "read" };
  if (isEnd) return { sessionUpdate: "tool_call_update", ...call, status: "completed" };
  return { sessionUpdate: "tool_call", ...call, status: "in_progress" };
}

/** Some of them are what other asks and accesses were about, so that answers meet again. */
export function accessOf(chance: Chance, file: string): Access {
  return chance.pick<Access>([
    { action: "terminal", command: `touch ${file}`, cwd: "/w" },
    { action: "terminal", command: "make", cwd: "/w" },
    { action: "write", path: "/w/a.ts" },
    { action: "read", path: `/w/${file}` },
  ]);
}

export function usageOf(chance: Chance): ContextUsage {
  const tokens = { ...NO_TOKENS, input: chance.under(1_000), output: chance.under(500) };
  return { model: "simulated", used: chance.under(10_000), size: 100_000, tokens };
}

const PLACE = { kind: "edit", locations: [{ path: "/w/a.ts" }] };

/** Its options carry its name, so that an answer can be told from every other one. */
export function askOf(chance: Chance, name: string): AgentAsk {
  const kinds: Some<readonly string[]> = [
    ["allow_once", "reject_once"],
    ["allow_once", "allow_always", "reject_once"],
    ["allow_once"],
  ];
  const options = chance.pick(kinds).map((kind) => {
    return { optionId: `${name}-${kind}`, name: kind, kind };
  });
  const kind = chance.pick(["read", "edit", "execute", "delete"]);
  const about = chance.pick<object>([{}, { rawInput: { command: "make" } }, PLACE]);
  const toolCall = { toolCallId: `call of ${name}`, title: name, kind, ...about };
  return { kind: "permission", toolCall, known: {}, options };
}
