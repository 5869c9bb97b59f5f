import type { Refusal } from "../../core/error.ts";
import type { Command, CommandType } from "../../core/session/command.ts";
import { type Details, details } from "./details.ts";

/**
 * Whether a refusal of this command is worth an entry. Not what comes in floods and asks for no
 * change of anything: there the caller's counters tell enough. A new command does not compile
 * until somebody decides.
 */
const REFUSAL_AUDITED: Readonly<Record<CommandType, boolean>> = {
  create: true,
  resume: true,
  stop: true,
  close: true,
  recovery: true,
  store_failure: true,

  activate: true,
  agent_status: true,
  agent_exit: true,
  agent_unavailable: true,
  instructed: true,
  agent_update: false,
  usage: false,

  prompt: true,
  begin_turn: true,
  command_result: true,
  remove_prompt: true,
  steer: true,
  cancel: true,
  reserve_slice: true,
  deadline_passed: true,
  limit_passed: true,
  commit_refused: true,

  ask: true,
  access: true,
  ask_withdrawn: true,
  vote: true,
  voter_gone: true,
  revoke_grant: true,

  metadata: true,
  model: true,
  approval_mode: true,
  autonomy: true,
  agent_mode: true,
  sandbox: true,
  reload_skills: true,
  reload_persona: true,
  change_agent: true,
  change_cwd: true,
  set_budget: true,

  attach: true,
  detach: true,
  client_expiry: true,
  shell_started: true,
  shell_output: false,
  shell_result: true,

  announce: true,
};

/** Of a refusal's details, those that are names of ours; others may quote what was asked. */
const TELLING = [
  "state",
  "trigger",
  "actor",
  "limit",
  "scope",
  "neededMicro",
  "availableMicro",
] as const;

/** What the audit is told of a refusal that left no event; null if nothing. */
export function refusedDetails(command: Command, refusal: Refusal): Details | null {
  if (!REFUSAL_AUDITED[command.type]) return null;
  const requestId = "requestId" in command ? command.requestId : undefined;
  const told = Object.fromEntries(TELLING.map((name) => [name, refusal.details[name]]));
  return details({ requestId, ...told });
}
