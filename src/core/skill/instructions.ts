import { SKILL_INDEX_CHARS_MAX, SKILL_INDEX_SUMMARY_CHARS_MAX } from "../limits.ts";
import type { Persona } from "../persona.ts";
import { cutText } from "../text.ts";
import type { SkillEntry, SkillSnapshot } from "./skill.ts";

/** The tool of the server by which a model gets the text of a skill. */
export const READ_SKILL_TOOL = "read_skill";

const HOW_SKILLS_ARE_USED =
  "A skill is a set of instructions for one kind of work. Use at most one at a time, and say " +
  "which one before you use it; choosing none is fine. You are told only the names and summaries " +
  "here: a skill's text comes when the user sends `/skill NAME`";

const WITHOUT_TOOL = ". If one would help, say so.";
const WITH_TOOL =
  `, or when you call \`${READ_SKILL_TOOL}\` with its name. That is a tool of the MCP server ` +
  "`fermata`: if you do not see it among your tools, search for it.";

/**
 * An agent's instructions: who it is to be, and which skills there are. Null
 * if there is nothing to say. The same session always says the same. `canRead` is whether
 * the agent has the tool that reads skills.
 */
export function instructionsOf(
  persona: Persona,
  skills: SkillSnapshot,
  canRead = false,
): string | null {
  const parts = persona.files.map(({ name, text }) => `# ${name}\n\n${text.trim()}`);
  if (tellsOfSkills(persona, skills)) parts.push(indexOf(skills.entries, canRead));
  return parts.length === 0 ? null : parts.join("\n\n");
}

/**
 * Whether an agent is told which skills there are: the skills that every server has are no reason
 * to put words before a prompt.
 */
export function tellsOfSkills({ files }: Persona, { entries }: SkillSnapshot): boolean {
  const hasOwn = files.length > 0 || entries.some(({ source }) => source !== "bundled");
  return hasOwn && entries.length > 0;
}

/** The text by which a chosen skill reaches an agent, for one request. */
export function skillBlock({ skill_name: name, body }: SkillEntry): string {
  const attribute = name.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return (
    `The user chose the skill ${JSON.stringify(name)} for this request. Its instructions:\n` +
    `<skill name="${attribute}">\n${body}\n</skill>`
  );
}

function indexOf(entries: readonly SkillEntry[], canRead: boolean): string {
  const lines: string[] = [];
  let chars = 0;
  for (const entry of entries) {
    const line = lineOf(entry);
    if (chars + line.length > SKILL_INDEX_CHARS_MAX) break;
    chars += line.length;
    lines.push(line);
  }
  const left = entries.length - lines.length;
  const rest = `- … and ${left} more, which the user can list with \`/skills\``;
  const list = [...lines, ...(left > 0 ? [rest] : [])].join("\n");
  const how = `${HOW_SKILLS_ARE_USED}${canRead ? WITH_TOOL : WITHOUT_TOOL}`;
  return `# Skills\n\n${how}\n\n${list}`;
}

function lineOf({ skill_name: name, summary, invocation_mode: mode }: SkillEntry): string {
  const isCut = summary.length > SKILL_INDEX_SUMMARY_CHARS_MAX;
  const short = isCut ? `${cutText(summary, SKILL_INDEX_SUMMARY_CHARS_MAX - 1)}…` : summary;
  const words = short === "" ? `- ${name}` : `- ${name}: ${short}`;
  return mode === "tool_dispatch" ? `${words} (the user runs it, without you)` : words;
}
