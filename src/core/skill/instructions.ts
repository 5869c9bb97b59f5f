import { SKILL_INDEX_CHARS_MAX, SKILL_INDEX_SUMMARY_CHARS_MAX } from "../limits.ts";
import type { Persona } from "../persona.ts";
import { cutText } from "../text.ts";
import type { SkillEntry, SkillSnapshot } from "./skill.ts";

const HOW_SKILLS_ARE_USED =
  "A skill is a set of instructions for one kind of work. Use at most one at a time, and say " +
  "which one before you use it; choosing none is fine. You are told only the names and summaries " +
  "here: a skill's text comes when the user sends `/skill NAME`. If one would help, say so.";

/**
 * An agent's instructions: who it is to be, and which skills there are. Null
 * if there is nothing to say: the skills that every server has are no reason to put words before
 * a prompt. The same session always says the same.
 */
export function instructionsOf(persona: Persona, skills: SkillSnapshot): string | null {
  const parts = persona.files.map(({ name, text }) => `# ${name}\n\n${text.trim()}`);
  const hasOwn = parts.length > 0 || skills.entries.some(({ source }) => source !== "bundled");
  if (hasOwn && skills.entries.length > 0) parts.push(indexOf(skills.entries));
  return parts.length === 0 ? null : parts.join("\n\n");
}

/** The text by which a chosen skill reaches an agent, for one request. */
export function skillBlock({ skill_name: name, body }: SkillEntry): string {
  const attribute = name.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return (
    `The user chose the skill ${JSON.stringify(name)} for this request. Its instructions:\n` +
    `<skill name="${attribute}">\n${body}\n</skill>`
  );
}

function indexOf(entries: readonly SkillEntry[]): string {
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
  return `# Skills\n\n${HOW_SKILLS_ARE_USED}\n\n${list}`;
}

function lineOf({ skill_name: name, summary, invocation_mode: mode }: SkillEntry): string {
  const isCut = summary.length > SKILL_INDEX_SUMMARY_CHARS_MAX;
  const short = isCut ? `${cutText(summary, SKILL_INDEX_SUMMARY_CHARS_MAX - 1)}…` : summary;
  const words = short === "" ? `- ${name}` : `- ${name}: ${short}`;
  return mode === "tool_dispatch" ? `${words} (the user runs it, without you)` : words;
}
