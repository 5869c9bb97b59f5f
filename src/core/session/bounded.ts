import type { Refusal } from "../error.ts";
import { mayUnask } from "../policy/asking.ts";
import { type BoundSettings, ceilingRefusal } from "../policy/ceiling.ts";
import { approvalMeaning } from "../policy/risk.ts";
import { slashTextOf } from "../slash/commands.ts";
import type { Command, CommandType } from "./command.ts";
import { type Creation, optionsOfAgent, type Session } from "./state.ts";

/** Whose ceiling binds a command: its caller's, or that of the turn that asks for something. */
type BoundBy = "caller" | "turn" | null;

/**
 * Which commands the tenant's policy binds, and by whom. A new command does not compile without a
 * row. The server's own commands are bound where they act for a user, by what they bring.
 */
const BOUND_BY: Readonly<Record<CommandType, BoundBy>> = {
  create: "caller",
  resume: null,
  stop: null,
  close: null,
  recovery: null,
  store_failure: null,

  activate: null,
  agent_status: null,
  agent_exit: null,
  agent_unavailable: null,
  instructed: null,
  agent_offer: null,
  agent_update: null,
  usage: null,

  prompt: "caller",
  begin_turn: null,
  command_result: "caller",
  remove_prompt: null,
  refuse_prompt: null,
  steer: "caller",
  // It takes the words only of users who speak in the turn already.
  take_messages: null,
  cancel: null,
  reserve_slice: null,
  deadline_passed: null,
  limit_passed: null,
  commit_refused: null,

  // Its agent and model are looked at where they are chosen.
  start_child: null,
  child_update: null,
  child_usage: null,
  child_ended: null,

  // Each of its stages is bound as a prompt of the user who started it.
  attach_workflow: null,
  begin_stage: null,
  prompt_stage: null,
  steer_workflow: null,
  abort_workflow: null,

  ask: "turn",
  access: "turn",
  ask_withdrawn: null,
  vote: "turn",
  voter_gone: "turn",
  revoke_grant: null,

  metadata: null,
  model: "caller",
  approval_mode: "caller",
  autonomy: "caller",
  agent_mode: "caller",
  agent_option: "caller",
  sandbox: null,
  reload_skills: null,
  reload_persona: null,
  change_agent: "caller",
  change_cwd: null,
  set_budget: null,
  visibility: null,

  attach: null,
  detach: null,
  client_expiry: null,
  shell_started: null,
  shell_output: null,
  shell_result: null,

  announce: null,
};

export function boundBy(type: CommandType): BoundBy {
  return BOUND_BY[type];
}

/** Why the policy forbids a command; null if it allows it, or does not bind it. */
export function boundRefusal(session: Session | null, command: Command): Refusal | null {
  const { bound } = command;
  if (bound === undefined || BOUND_BY[command.type] !== "caller") return null;
  return ceilingRefusal(bound.ceiling, settingsIn(session, command));
}

/** What of a command a ceiling looks at. */
function settingsIn(session: Session | null, command: Command): BoundSettings {
  switch (command.type) {
    case "create":
      return creationSettings(command.creation);
    case "prompt":
      return session === null ? {} : promptSettings(session, command.content);
    case "steer":
      return session === null ? {} : promptSettings(session, command.prompt.content);
    case "approval_mode": {
      const { autonomyProfile: autonomy, agentMode } = approvalMeaning(command.mode);
      return { autonomy, agentMode };
    }
    case "autonomy":
      return { autonomy: command.profile };
    case "agent_mode":
      return { agentMode: modeOtherThanUsual(session, command.mode) };
    case "agent_option":
      return { agentOption: mayUnask(command.category) ? command.configId : null };
    case "model":
      return "change" in command ? modelSettings(command.change.modelId) : {};
    case "change_agent":
      return { agent: command.to };
    case "command_result":
      return command.effect?.type === "change_agent" ? { agent: command.effect.to } : {};
    default:
      return {};
  }
}

/** An option that a client has set, by which the agent may ask less; null if there is none. */
export function optionThatMayUnask(session: Session): string | null {
  const [id] = optionsOfAgent(session).find(([, option]) => mayUnask(option.category)) ?? [];
  return id ?? null;
}

/** The agent's usual mode may be chosen by its name, too. */
export function modeOtherThanUsual(session: Session | null, mode: string | null): string | null {
  return mode === session?.agentUsualMode ? null : mode;
}

function modelSettings(modelId: string | undefined): BoundSettings {
  return modelId === undefined ? {} : { model: modelId };
}

/** What a session is created with, or is like by now. */
export function creationSettings(
  creation: Pick<Creation, "securityMode" | "allowlist" | "approvalMode"> &
    Pick<Creation, "autonomyProfile" | "agentMode" | "activeAgent" | "modelConfig">,
): BoundSettings {
  const { securityMode: mode, allowlist, approvalMode, autonomyProfile } = creation;
  const { activeAgent: agent, modelConfig, agentMode = null } = creation;
  const autonomy = autonomyProfile ?? approvalMeaning(approvalMode).autonomyProfile;
  return { mode, allowlist, autonomy, agentMode, agent, model: modelConfig.modelId };
}

/** What a line with a slash means is found out when it is next, and looked at then. */
function promptSettings(session: Session, content: Command<"prompt">["content"]): BoundSettings {
  return slashTextOf(content) === null ? turnSettings(session) : {};
}

/** With what a turn would run: no policy can lower these, so a turn above them does not begin. */
export function turnSettings(session: Session): BoundSettings {
  const { chosen, connection } = session;
  const { activeAgent: agent, modelConfig } = chosen;
  const agentMode = modeOtherThanUsual(session, connection.agentMode);
  const agentOption = optionThatMayUnask(session);
  return { agent, model: modelConfig.modelId, agentMode, agentOption };
}
