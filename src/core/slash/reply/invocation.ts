import type { CommandResult } from "../../session/event.ts";
import { done, failed, shownName } from "./answer.ts";

/** A tool's own words are the answer; it is bounded like any other. */
export function toolOk(tool: string, text: string): CommandResult {
  const message = text === "" ? `${shownName(tool)} finished without output.` : text;
  return done("tool_ok", message, { tool });
}

export function toolFailed(tool: string, text: string): CommandResult {
  const told = text === "" ? "It gave no reason." : text;
  return failed("tool_failed", `Error: ${shownName(tool)} failed.\n${told}`, { tool });
}

export function toolInputInvalid(tool: string, reason: string): CommandResult {
  const message = `Error: ${shownName(tool)} was not run, its input is not valid: ${reason}`;
  return failed("tool_input_invalid", message, { tool });
}

/** A rule or a person said no to what the skill would have done. */
export function skillCapabilityDenied(skill: string, tool: string, reason: string): CommandResult {
  const message = `Error: skill ${shownName(skill)} may not run ${shownName(tool)}: ${reason}`;
  return failed("skill_capability_denied", message, { skill, tool });
}

/** The tool was there when the skills were loaded and is not there now. */
export function executorUnbound(skill: string, tool: string): CommandResult {
  const message =
    `Error: skill ${shownName(skill)} needs the tool ${shownName(tool)}, ` +
    "which is not available now.";
  return failed("executor_unbound", message, { skill, tool });
}
