import { refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import {
  CHILD_DEPTH_MAX,
  CHILD_SKILLS_MAX,
  CHILD_TASK_CHARS_MAX,
  CHILD_TITLE_CHARS_MAX,
} from "../../core/limits.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import { cutText } from "../../core/text.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import type { OfferedTool, ToolUse } from "../../tool/toolbox.ts";

/** The tool by which a model hands a task to another agent. */
export const DELEGATE_TOOL = "delegate";

/** What an agent delegates. */
export interface Delegated {
  readonly task: string;
  readonly title: string;
  /** Null is that of the session, and of its model as well if it is the same agent. */
  readonly agent: string | null;
  readonly model: string | null;
  readonly skills: readonly string[];
  readonly readOnly: boolean;
}

/** What takes tasks of an agent. */
export interface Delegation {
  /** The agents that a task can be given to. */
  readonly agents: readonly string[];
  delegate(call: DelegateCall, skills: SkillSnapshot): Promise<ToolAnswer>;
}

/** A task, the call that it came with, and the turn that the call is of; null if of none. */
export interface DelegateCall {
  readonly wanted: Delegated;
  readonly use: ToolUse;
  readonly turnId: TurnId | null;
  /** How many may be at work at the same time; by default what the operator says. */
  readonly openMax?: number;
}

interface DelegateDeps {
  readonly delegation: Delegation;
  /** Those of the session, as they were when it chose them. */
  readonly skills: () => SkillSnapshot;
  /** The turn that the agent has now. */
  readonly turn: () => TurnId | null;
}

/** The tool of a session's agent; with null that of a child, which is too deep to delegate. */
export function delegateTool(deps: DelegateDeps | null): OfferedTool {
  return {
    name: DELEGATE_TOOL,
    description: deps === null ? TOO_DEEP : descriptionOf(deps.delegation.agents),
    inputSchema: SCHEMA,
    isReadOnly: false,
    async call(input, use) {
      if (deps === null) return { isError: true, text: TOO_DEEP };
      const { delegation, skills, turn } = deps;
      const wanted = readDelegated(input);
      if (wanted !== null) return delegation.delegate({ wanted, use, turnId: turn() }, skills());
      const why = refusal("invalid_task", { limit: CHILD_TASK_CHARS_MAX });
      return { isError: true, text: sentenceOf(why) };
    },
  };
}

const TOO_DEEP = sentenceOf(refusal("child_depth_exceeded", { limit: CHILD_DEPTH_MAX }));

function descriptionOf(agents: readonly string[]): string {
  return (
    "Hands a task to another agent, which works on it in this workspace under the same rules as " +
    "you, and answers with what came of it as JSON: {state, text, error?, usage}. Several calls " +
    "at once run side by side. The other agent sees nothing of this conversation, so its task " +
    `has to say all that it needs. Agents: ${agents.join(", ")}.`
  );
}

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    task: { type: "string", description: "What is to be done, with all that has to be known" },
    title: { type: "string", description: "A few words for people, who see the child at work" },
    agent: { type: "string", description: "Which agent; without it the same as you are" },
    model: { type: "string", description: "A model of that agent; without it its usual one" },
    skills: {
      type: "array",
      items: { type: "string" },
      description: "Names of skills of this session that it is to follow",
    },
    readOnly: { type: "boolean", description: "It may look at everything and change nothing" },
  },
  required: ["task"],
};

/** Null for what is no task. */
function readDelegated(input: JsonObject): Delegated | null {
  const task = stringAt(input, "task") ?? "";
  if (task.trim() === "" || task.length > CHILD_TASK_CHARS_MAX) return null;
  const { skills = [], readOnly = false } = input;
  const names = Array.isArray(skills) ? skills.filter((name) => typeof name === "string") : [];
  if (names.length > CHILD_SKILLS_MAX) return null;
  const title = (stringAt(input, "title") ?? "").trim() || (task.trim().split("\n")[0] ?? "");
  return {
    task,
    title: cutText(title, CHILD_TITLE_CHARS_MAX),
    agent: stringAt(input, "agent") || null,
    model: stringAt(input, "model") || null,
    skills: names,
    readOnly: readOnly === true,
  };
}
