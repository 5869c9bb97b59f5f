import type { ContentBlock } from "../../core/agent-update.ts";
import type { TenantId } from "../../core/id.ts";
import type { AgentContext, InstructionsSent } from "../../core/session/event.ts";
import type { Chosen, Instructed, Session } from "../../core/session/state.ts";
import { instructionsOf } from "../../core/skill/instructions.ts";
import type { SkillEntry } from "../../core/skill/skill.ts";
import { slashTextOf } from "../../core/slash/line.ts";
import { resolveSlash } from "../../core/slash/resolve.ts";
import { type Knowledge, NO_KNOWLEDGE, readKnowledge } from "../knowledge.ts";
import type { SessionWorld } from "../world.ts";

/** A skill that a prompt calls for, and what the person said with it. */
export interface CalledSkill {
  readonly entry: SkillEntry;
  readonly words: string;
}

/**
 * What one agent is told beside the conversation: who it is to be, and which skills there are. It
 * is told once, and again only after somebody has reloaded the files that it comes from.
 */
export class Briefing {
  readonly #world: SessionWorld;
  readonly #tenantId: TenantId;
  /** What this side of the conversation has been told; null if nothing. */
  #told: Instructed | null;
  #wanted: Instructed = { skills: "", persona: "" };
  #knowledge: Knowledge = NO_KNOWLEDGE;

  constructor(world: SessionWorld, tenantId: TenantId, { instructed }: Session) {
    this.#world = world;
    this.#tenantId = tenantId;
    this.#told = instructed;
  }

  /** What the agent should know, in words; null if there is nothing to say. */
  get text(): string | null {
    return instructionsOf(this.#knowledge.persona, this.#knowledge.skills);
  }

  isOf({ skills, persona }: Chosen): boolean {
    return isSame(this.#wanted, { skills: skills.hash, persona: persona.hash });
  }

  /** Reads what the session has chosen. What cannot be read is missed, and no reason to stop. */
  async learn(chosen: Chosen): Promise<void> {
    const { skills, persona } = chosen;
    const known = await readKnowledge(this.#world.store, this.#tenantId, chosen);
    if (!known.ok) this.#world.log("snapshot not read", { because: known.refusal.code });
    this.#knowledge = known.ok ? known.value : NO_KNOWLEDGE;
    this.#wanted = { skills: skills.hash, persona: persona.hash };
  }

  /** The agent is there, and was told this on its way; null if that is no news to it. */
  arrived(context: AgentContext, hasSystemPrompt: boolean): InstructionsSent | null {
    const remembers = context === "resumed" || context === "loaded";
    if (!remembers) this.#told = null;
    if (remembers && !hasSystemPrompt) return null;
    return this.#tell(hasSystemPrompt ? "system_prompt" : "context_block");
  }

  /** What has to go in front of the next prompt; null if the agent knows it all. */
  update(): InstructionsSent | null {
    return this.#tell("context_block");
  }

  #tell(via: InstructionsSent["via"]): InstructionsSent | null {
    if (this.#told !== null && isSame(this.#told, this.#wanted)) return null;
    const { text } = this;
    if (this.#told === null && text === null) return null;
    this.#told = this.#wanted;
    return { via, ...this.#wanted, text: text ?? NO_LONGER };
  }

  /** The skill that this content calls for by its name or alias, if it does. */
  skillIn(content: readonly ContentBlock[]): CalledSkill | null {
    const line = slashTextOf(content);
    const meaning = line === null ? null : resolveSlash(line, this.#knowledge.skills, []);
    return meaning?.kind === "skill" ? meaning : null;
  }
}

const NO_LONGER = "The instructions that you were given before do not apply any more.";

/** As a block in front of a prompt, for an agent that has heard something else before. */
export function instructionsBlock({ text }: InstructionsSent): ContentBlock {
  const words = "From now on these take the place of earlier instructions:";
  return { type: "text", text: `<instructions>\n${words}\n\n${text}\n</instructions>` };
}

function isSame(one: Instructed, other: Instructed): boolean {
  return one.skills === other.skills && one.persona === other.persona;
}
