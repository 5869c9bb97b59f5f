import type { ContentBlock } from "../../core/agent-update.ts";
import type { RunningPrompt } from "../../core/session/state.ts";
import { skillBlock } from "../../core/skill/instructions.ts";
import type { SkillEntry } from "../../core/skill/skill.ts";
import * as reply from "../../core/slash/reply.ts";
import type { AgentReports } from "./agent-reports.ts";

/** A skill that a prompt calls for, and what the person said with it. */
export interface CalledSkill {
  readonly entry: SkillEntry;
  readonly words: string;
}

/** Whether it is run without the agent. */
export function isTool({ entry }: CalledSkill): boolean {
  return entry.invocation_mode === "tool_dispatch";
}

/** The skill's text, and then what was said with it in place of the line that called for it. */
export function calledContent(
  { entry, words }: CalledSkill,
  [, ...others]: readonly ContentBlock[],
): readonly ContentBlock[] {
  const asked = words === "" ? [] : [{ type: "text", text: words }];
  return [{ type: "text", text: skillBlock(entry) }, ...asked, ...others];
}

/** Tells clients which skill a prompt has called for. */
export function announceSkill(
  reports: AgentReports,
  { promptId }: Pick<RunningPrompt, "promptId">,
  { entry }: CalledSkill,
) {
  const { skill_name: skill, source, invocation_mode: mode } = entry;
  const text = mode === "llm_orchestration" ? { text: skillBlock(entry) } : {};
  const data = { promptId, skill, source, mode, ...text };
  reports.announce({ type: "skill_invoked", data });
}

/** It was reloaded away since the line was looked at, and a line is never given raw. */
export function answerSkillGone(reports: AgentReports, { promptId, turnId }: RunningPrompt) {
  const result = reply.skillGone();
  const content = { type: "text", text: result.message };
  void reports.update({ sessionUpdate: "agent_message_chunk", content });
  reports.announce({ type: "command_result", data: { promptId, ...result } });
  reports.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
}
