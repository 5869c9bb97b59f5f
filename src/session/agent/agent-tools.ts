import type { AgentSession } from "../../agent/agent.ts";
import type { TurnId } from "../../core/id.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { namedPaths } from "../../core/policy/approval-key.ts";
import { riskTier } from "../../core/policy/risk.ts";
import type { Skipped } from "../../core/session/event.ts";
import { READ_SKILL_TOOL } from "../../core/skill/instructions.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import type { OfferedTool, Toolbox, ToolboxRequest } from "../../tool/toolbox.ts";
import type { Stages } from "../workflow/workflow-side.ts";
import type { SessionWorld } from "../world.ts";
import type { Briefing } from "./briefing.ts";
import { DELEGATE_TOOL, type Delegation, delegateTool } from "./delegate-tool.ts";

/**
 * The tools of the server that one activation of a session's agent is offered. It has a toolbox
 * only if there are any, so a session without tools has no process for them.
 */
export class AgentTools {
  /** Those that the agent cannot be offered, with the reason (P6). */
  readonly skipped: readonly Skipped[];
  readonly #tools: readonly OfferedTool[];
  readonly #toolbox: Toolbox | null;
  /** The turn that the agent was given, until that has ended: its calls are of this one. */
  #turn: TurnId | null = null;
  #settling: Promise<void> | null = null;

  private constructor(
    tools: readonly OfferedTool[],
    toolbox: Toolbox | null,
    skipped: readonly Skipped[],
  ) {
    this.#tools = tools;
    this.#toolbox = toolbox;
    this.skipped = skipped;
  }

  static open(
    { toolboxes }: Pick<SessionWorld, "toolboxes">,
    request: ToolboxRequest,
    tools: readonly OfferedTool[],
  ): AgentTools {
    if (toolboxes === undefined || tools.length === 0) return new AgentTools([], null, []);
    const opened = toolboxes.open(request, tools);
    if (typeof opened !== "string") return new AgentTools(tools, opened, []);
    // A stage can end without its tool, so nothing is missing there.
    const missing = tools.filter(({ name }) => name !== COMPLETE_TOOL);
    const skipped = missing.map(({ name }) => ({ name: `tool ${name}`, reason: opened }));
    return new AgentTools([], null, skipped);
  }

  /** The MCP server that brings them, in the form of ACP; null if there are none. */
  get server(): JsonObject | null {
    return this.#toolbox?.server ?? null;
  }

  has(name: string): boolean {
    return this.#tools.some((tool) => tool.name === name);
  }

  get turn(): TurnId | null {
    return this.#turn;
  }

  /** The agent gets a turn; all calls of the one before have come in. */
  beginTurn(turnId: TurnId) {
    this.#turn = turnId;
  }

  /**
   * The agent has no turn any more. Calls of it may still be on their way, and must not be taken
   * for those of the next: so that begins when they have come in.
   */
  endTurn() {
    if (this.#turn === null) return;
    this.#turn = null;
    if (this.#toolbox === null || !(this.has(DELEGATE_TOOL) || this.has(COMPLETE_TOOL))) return;
    this.#settling = this.#toolbox.settled().then(() => {
      this.#settling = null;
    });
  }

  /** Resolves when all calls of the last turn have come in; null if they have. */
  get settling(): Promise<void> | null {
    return this.#settling;
  }

  /** The session is at this agent no more. */
  close() {
    this.#toolbox?.close();
  }
}

/** What of the session the tools of its agent are for. */
interface Offering {
  readonly delegation: Delegation | null;
  readonly stages: Stages | null;
}

/** Opens the tools of an agent that is about to connect, and has its instructions name them. */
export function offerTools(
  world: Pick<SessionWorld, "toolboxes">,
  request: ToolboxRequest,
  briefing: Briefing,
  { delegation, stages }: Offering = { delegation: null, stages: null },
): AgentTools {
  const skills = () => briefing.skills;
  const turn = () => tools.turn;
  const others = [
    ...(briefing.tellsOfSkills ? [readSkillTool(skills)] : []),
    ...(delegation === null ? [] : [delegateTool({ delegation, skills, turn })]),
  ];
  // An agent gets no tool later on. Where there is a toolbox at all, this one costs nothing; a
  // stage without it ends with the agent's last message.
  const isOffered = stages !== null && (stages.isAttached || others.length > 0);
  const offered = isOffered ? [...others, completeTool(stages)] : others;
  const tools = AgentTools.open(world, request, offered);
  briefing.canReadSkills = tools.has(READ_SKILL_TOOL);
  return tools;
}

/** What the session has and its agent cannot be given, with the reasons (P6). */
export function skippedBy(
  session: AgentSession | null,
  tools: AgentTools | null,
): readonly Skipped[] {
  const servers = session?.offer.skipped.map(({ what, reason }) => ({ name: what, reason })) ?? [];
  return [...servers, ...(tools?.skipped ?? [])];
}

/**
 * The tool by which a model gets the text of a skill that it was told of. The text is that of the
 * session's snapshot: no file is read (P7).
 */
export function readSkillTool(skills: () => SkillSnapshot): OfferedTool {
  return {
    name: READ_SKILL_TOOL,
    description:
      "Gives the instructions of one of this session's skills, by the name that the list of " +
      "skills has. Call it before you do work that a skill is for.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "The name of the skill" } },
      required: ["name"],
    },
    isReadOnly: true,
    call: async ({ name }) => textOf(skills(), name),
  };
}

/** The tool by which an agent says that a stage is done. */
export const COMPLETE_TOOL = "complete_stage";

/**
 * Whether a call that an agent asks for is that of this tool, as far as it can be told: exactly a
 * name that agents give it, nothing in it but the result, and nothing that it would touch.
 */
export function isCompletionCall(call: JsonObject): boolean {
  const kind = stringAt(call, "kind");
  const isQuiet = kind === null || kind === "other" || riskTier(kind) === "read";
  const input = call.rawInput ?? {};
  const isBare = isObject(input) && Object.keys(input).every((name) => name === "result");
  const isNamed = COMPLETE_TITLES.includes(stringAt(call, "title") ?? "");
  return isNamed && isQuiet && isBare && namedPaths(call).length === 0;
}

/** How Claude Code and opencode name the tool of our MCP server. */
const COMPLETE_TITLES = [`mcp__fermata__${COMPLETE_TOOL}`, `fermata_${COMPLETE_TOOL}`];

function completeTool(stages: Pick<Stages, "complete">): OfferedTool {
  return {
    name: COMPLETE_TOOL,
    description:
      "Ends the stage of the workflow that you were told to do, with its result. Call it only if " +
      "your instructions say so, once, when all is done.",
    inputSchema: {
      type: "object",
      properties: { result: { type: "object", description: "As your instructions describe it" } },
      required: ["result"],
    },
    isReadOnly: true,
    call: async ({ result }) => stages.complete(result),
  };
}

function textOf({ entries }: SkillSnapshot, name: unknown): ToolAnswer {
  const found = entries.find((entry) => entry.skill_name === name);
  if (found !== undefined) return { isError: false, text: found.body };
  const names = entries.map((entry) => entry.skill_name).join(", ");
  const known = names === "" ? "This session has no skills." : `Its skills are: ${names}`;
  return { isError: true, text: `There is no skill of this name. ${known}` };
}
