import type { SkillDiagnostic, SkillEntry, SkillSnapshot } from "../skill/skill.ts";

/** A skill as the loader would have found it; only what a test is about need be said. */
export function skill(skill_name: string, more: Partial<SkillEntry> = {}): SkillEntry {
  return {
    skill_name,
    source: "bundled",
    path: `${skill_name}/SKILL.md`,
    summary: `What ${skill_name} is for.`,
    invocation_mode: "llm_orchestration",
    command: null,
    command_tool: null,
    requires_tools: [],
    eligibility: { os: [], env: [], binaries: [] },
    body: `The instructions of ${skill_name}.`,
    ...more,
  };
}

export function remark(
  skill_name: string,
  code: SkillDiagnostic["code"],
  message: string,
): SkillDiagnostic {
  return { skill_name, code, message, source: "workspace", path: `${skill_name}/SKILL.md` };
}

/** Two skills that the agent reads, one that runs a tool, and two that lost an alias. */
export const SNAPSHOT: SkillSnapshot = {
  entries: [
    skill("commit", { command: "ci" }),
    skill("first-two", { source: "workspace" }),
    skill("other-two", { source: "user" }),
    skill("review"),
    skill("run", {
      command: "sh",
      invocation_mode: "tool_dispatch",
      command_tool: "shell",
      requires_tools: ["shell"],
      eligibility: { os: ["linux", "darwin"], env: ["HOME"], binaries: ["sh"] },
    }),
  ],
  diagnostics: [
    remark("first-two", "alias_ambiguous", "The alias /two is also asked for by other-two."),
    remark("other-two", "alias_ambiguous", "The alias /two is also asked for by first-two."),
  ],
};

export const AGENT_COMMANDS = ["init", "compress", "ci", "status"];
