import { createHash } from "node:crypto";
import type { AgentSession } from "../../agent/agent.ts";
import type { ContentBlock } from "../../core/agent-update.ts";
import type { Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { SURROUNDINGS_MS_MAX } from "../../core/limits.ts";
import type { AgentContext, InstructionsSent } from "../../core/session/event.ts";
import type { Chosen, Instructed, Session, Surroundings } from "../../core/session/state.ts";
import { instructionsOf, tellsOfSkills } from "../../core/skill/instructions.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import { resolveSlash } from "../../core/slash/resolve.ts";
import type { LoadScope } from "../../loader/loader.ts";
import {
  type Knowledge,
  look,
  NO_KNOWLEDGE,
  PERSONA,
  readKnowledge,
  SKILLS,
} from "../knowledge.ts";
import type { SessionWorld } from "../world.ts";
import type { CalledSkill } from "./called-skill.ts";

/** Instructions that go with a prompt; without a block if they get into it by themselves. */
export interface BriefingUpdate {
  readonly sent: InstructionsSent;
  readonly block: ContentBlock | null;
}

/**
 * What one agent is told beside the conversation: who it is to be, and which skills there are. It
 * is told once, and again only after a client has reloaded the files that it comes from.
 */
export class Briefing {
  readonly #world: SessionWorld;
  readonly #tenantId: TenantId;
  /** What this side of the conversation has been told; null if nothing. */
  #told: Instructed | null;
  /** What the bridge puts in front of the first prompt, for an agent with no other place for it. */
  #carried: InstructionsSent | null = null;
  #wanted: Instructed = { skills: "", persona: "" };
  #knowledge: Knowledge = NO_KNOWLEDGE;
  /** Whether the agent has the tool that reads skills, which its instructions then name. */
  canReadSkills = false;

  constructor(world: SessionWorld, tenantId: TenantId, { instructed }: Session) {
    this.#world = world;
    this.#tenantId = tenantId;
    this.#told = instructed;
  }

  /** What the agent should know, in words; null if there is nothing to say. */
  get text(): string | null {
    const { persona, skills } = this.#knowledge;
    return instructionsOf(persona, skills, this.canReadSkills);
  }

  /** The skills that the session has chosen, as they were then. */
  get skills(): SkillSnapshot {
    return this.#knowledge.skills;
  }

  get tellsOfSkills(): boolean {
    return tellsOfSkills(this.#knowledge.persona, this.#knowledge.skills);
  }

  isOf({ skills, persona }: Chosen): boolean {
    return isSame(this.#wanted, { skills: skills.hash, persona: persona.hash });
  }

  /**
   * Reads what the session has chosen; answers why it could not be read yet. What is damaged or
   * gone for good is missed, and no reason to stop (P6): of that the agent is told nothing new.
   */
  async learn(chosen: Chosen): Promise<Refusal | null> {
    const { skills, persona } = chosen;
    const known = await readKnowledge(this.#world, this.#tenantId, chosen);
    if (!known.ok && known.refusal.code === "store_unavailable") return known.refusal;
    this.#wanted = { skills: skills.hash, persona: persona.hash };
    this.#knowledge = known.ok ? known.value : NO_KNOWLEDGE;
    if (known.ok) return null;
    this.#world.log("snapshot not read", { because: known.refusal.code });
    this.#told = this.#wanted;
    return null;
  }

  /**
   * The agent is there, and was told this on its way; null if that is no news to it. What only its
   * first prompt will carry has not been told yet: it may never get that prompt.
   */
  arrived(context: AgentContext, hasSystemPrompt: boolean): InstructionsSent | null {
    const remembers = context === "resumed" || context === "loaded";
    if (!remembers) this.#told = null;
    if (hasSystemPrompt) return this.#tell("system_prompt");
    if (!remembers) this.#carried = this.#tell("context_block");
    return null;
  }

  /** What goes with the next prompt and is news to the agent, in the order of the telling. */
  updates(): readonly BriefingUpdate[] {
    const carried = this.#carried;
    this.#carried = null;
    const news = this.#tell("context_block");
    return [
      ...(carried === null ? [] : [{ sent: carried, block: null }]),
      ...(news === null ? [] : [{ sent: news, block: instructionsBlock(news) }]),
    ];
  }

  #tell(via: InstructionsSent["via"]): InstructionsSent | null {
    if (this.#told !== null && isSame(this.#told, this.#wanted)) return null;
    const { text } = this;
    // There is no system prompt that says nothing: that earlier words are void is told in words.
    if (text === null && (this.#told === null || via === "system_prompt")) return null;
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
function instructionsBlock({ text }: InstructionsSent): ContentBlock {
  const words = "From now on these take the place of earlier instructions:";
  return { type: "text", text: `<instructions>\n${words}\n\n${text}\n</instructions>` };
}

function isSame(one: Instructed, other: Instructed): boolean {
  return one.skills === other.skills && one.persona === other.persona;
}

/** What the files that speak to agents come to; null is not known. */
export type FilesAround = Pick<Surroundings, "skills" | "persona">;

const UNSEEN: FilesAround = { skills: null, persona: null };

/**
 * What the files of a session come to at the moment, to be compared with the last time. They are
 * looked at, unless that was just done.
 */
export async function filesAround(
  world: SessionWorld,
  place: LoadScope,
  known: FilesAround | null = null,
): Promise<FilesAround> {
  if (known !== null) return known;
  const looks = [look(world, place, SKILLS), look(world, place, PERSONA)] as const;
  const [skills, persona] = await Promise.all(looks);
  return { skills, persona };
}

/** The same, as far as it is known soon: a disk that does not answer blocks no session. */
export function knownSoon(
  { clock }: SessionWorld,
  files: Promise<FilesAround>,
): Promise<FilesAround> {
  return new Promise((resolve) => {
    const callOff = clock.after(SURROUNDINGS_MS_MAX, () => resolve(UNSEEN));
    const told = (known: FilesAround) => {
      callOff();
      resolve(known);
    };
    files.then(told, () => told(UNSEEN));
  });
}

/** All that is around a session, now that this agent is there. */
export function surroundingsOf(
  { offer }: AgentSession,
  files: FilesAround,
  servers: readonly JsonObject[],
): Surroundings {
  const { agentName, agentVersion } = offer;
  const named = [agentName, agentVersion].filter((part) => part !== null).join(" ");
  return {
    agent: named === "" ? null : named,
    model: offer.model ?? null,
    ...files,
    mcpServers: servers.map(serverMark),
  };
}

/** Its name, and a mark that changes with how it is reached; values may be secret, names not. */
function serverMark(server: JsonObject): string {
  const named = (list: unknown) =>
    Array.isArray(list) ? list.map((one) => (isObject(one) ? stringAt(one, "name") : null)) : [];
  const shape = { ...server, env: named(server.env), headers: named(server.headers) };
  const mark = createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 8);
  return `${stringAt(server, "name") ?? "a server"} ${mark}`;
}
