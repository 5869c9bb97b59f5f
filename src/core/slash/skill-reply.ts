import type { JsonObject } from "../json.ts";
import { SLASH_SUMMARY_CHARS_MAX } from "../limits.ts";
import type { CommandResult } from "../session/event.ts";
import type { SkillDiagnostic, SkillEntry, SkillSnapshot } from "../skill/skill.ts";
import { done, failed, leftOut, listed, oneLine, section, shownName } from "./answer.ts";
import { skillByName } from "./commands.ts";

/** `/skills`: what the session has, in the snapshot's own order, which is by name. */
export function skillsListed(snapshot: SkillSnapshot): CommandResult {
  const { entries, diagnostics } = snapshot;
  const notes = diagnosticLines(diagnostics);
  const data = {
    entries: listed(entries).map(entryData),
    diagnostics: listed(diagnostics).map(diagnosticData),
    entryCount: entries.length,
    diagnosticCount: diagnostics.length,
  };
  if (entries.length === 0) {
    const lines = ["This session has no skills.", ...notes];
    return done("skills_empty", lines.join("\n"), data);
  }
  const lines = [...listed(entries).map(entryLine), ...leftOut(entries)];
  return done("skills_listed", [...section("Skills:", lines), ...notes].join("\n"), data);
}

/** `/help NAME`: what the snapshot says of one skill. */
export function skillHelp(snapshot: SkillSnapshot, name: string): CommandResult {
  const entry = skillByName(snapshot, name);
  if (entry === null) return skillNotFound(name);
  const shown = shownName(entry.skill_name);
  const alias = entry.command === null ? [] : [`Alias: /${shownName(entry.command)}`];
  const lines = [
    `Skill: ${shown}`,
    `Summary: ${shownSummary(entry) || "(none)"}`,
    `Mode: ${modeLine(entry)}`,
    `Required tools: ${shownNames(entry.requires_tools) || "none"}`,
    `Eligibility: ${eligibilityLine(entry)}`,
    `Source: ${entry.source}, ${oneLine(entry.path, SLASH_SUMMARY_CHARS_MAX)}`,
    ...alias,
    `Use: /skill ${shown} [text]`,
  ];
  const command_tool = entry.command_tool === null ? null : shownName(entry.command_tool);
  const data = { ...entryData(entry), ...demandData(entry), command_tool };
  return done("skill_help", lines.join("\n"), data);
}

/** Clients know this message letter by letter. */
export function skillNameMissing(): CommandResult {
  return failed("invalid_args", "Error: /skill requires a skill name.");
}

export function skillNotFound(name: string): CommandResult {
  const shown = shownName(name);
  const message = `Error: this session has no skill "${shown}". /skills lists the ones it has.`;
  return failed("skill_not_found", message, { skill: shown });
}

function entryLine(entry: SkillEntry): string {
  const alias = entry.command === null ? "" : ` (/${shownName(entry.command)})`;
  const summary = shownSummary(entry);
  return `${shownName(entry.skill_name)}${alias}${summary === "" ? "" : `: ${summary}`}`;
}

function modeLine({ invocation_mode, command_tool }: SkillEntry): string {
  if (invocation_mode === "llm_orchestration") return "llm_orchestration (the agent reads it)";
  return `tool_dispatch (runs the tool ${shownName(command_tool ?? "")} without the agent)`;
}

function eligibilityLine({ eligibility: { os, env, binaries } }: SkillEntry): string {
  const demands = [
    ...(os.length > 0 ? [`system ${shownNames(os)}`] : []),
    ...(env.length > 0 ? [`environment ${shownNames(env)}`] : []),
    ...(binaries.length > 0 ? [`programs ${shownNames(binaries)}`] : []),
  ];
  return demands.join("; ") || "anywhere";
}

function diagnosticLines(diagnostics: readonly SkillDiagnostic[]): readonly string[] {
  const lines = listed(diagnostics).map(
    ({ skill_name, code, message }) =>
      `${shownName(skill_name)}: ${code}: ${oneLine(message, SLASH_SUMMARY_CHARS_MAX)}`,
  );
  return section("Remarks:", [...lines, ...leftOut(diagnostics)]);
}

/** An entry without its body, which only its use and the full listing need. */
function entryData(entry: SkillEntry): JsonObject {
  return {
    skill_name: shownName(entry.skill_name),
    source: entry.source,
    path: oneLine(entry.path, SLASH_SUMMARY_CHARS_MAX),
    summary: shownSummary(entry),
    invocation_mode: entry.invocation_mode,
    command: entry.command === null ? null : shownName(entry.command),
  };
}

function demandData({
  requires_tools,
  eligibility: { os, env, binaries },
}: SkillEntry): JsonObject {
  const names = (all: readonly string[]) => listed(all).map(shownName);
  return {
    requires_tools: names(requires_tools),
    eligibility: { os: names(os), env: names(env), binaries: names(binaries) },
  };
}

function diagnosticData(diagnostic: SkillDiagnostic): JsonObject {
  const { skill_name, code, message, source, path } = diagnostic;
  return {
    skill_name: shownName(skill_name),
    code,
    message: oneLine(message, SLASH_SUMMARY_CHARS_MAX),
    source,
    path: oneLine(path, SLASH_SUMMARY_CHARS_MAX),
  };
}

function shownSummary({ summary }: SkillEntry): string {
  return oneLine(summary, SLASH_SUMMARY_CHARS_MAX);
}

function shownNames(names: readonly string[]): string {
  return [...listed(names).map(shownName), ...leftOut(names)].join(", ");
}

/** It was there when the line was looked at, and was reloaded away before it could be used. */
export function skillGone(): CommandResult {
  const message = "Error: the skill was changed by a reload just now. /skills lists what there is.";
  return failed("skill_not_found", message);
}
