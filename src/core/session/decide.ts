import { type Refusal, refusal } from "../error.ts";
import { ADMISSION, type CommandCaller, type Condition, conditionOf } from "./admission.ts";
import { boundRefusal } from "./bounded.ts";
import type { Command, CommandType } from "./command.ts";
import * as agent from "./decide/agent.ts";
import * as ask from "./decide/ask.ts";
import * as child from "./decide/child.ts";
import * as client from "./decide/client.ts";
import * as instance from "./decide/instance.ts";
import * as output from "./decide/output.ts";
import * as prompt from "./decide/prompt.ts";
import * as setting from "./decide/setting.ts";
import * as stop from "./decide/stop.ts";
import * as vote from "./decide/vote.ts";
import * as voter from "./decide/voter.ts";
import * as workflow from "./decide/workflow.ts";
import { type Decision, refused, unchanged } from "./draft.ts";
import { isRegistered, type Session } from "./state.ts";

/**
 * What a command comes to: the events that follow from it, or a refusal. Pure: the same session
 * and command give the same answer for ever. The table in admission.ts has the first word, the
 * command's own decider the last.
 */
export function decide(session: Session | null, command: Command): Decision {
  const { caller, cells } = ADMISSION[command.type];
  const where = conditionOf(session);
  const cell = cells[where];
  if (cell === "skip") return unchanged(session);
  if (cell !== "yes") return refused(session, refusal(cell, details(session, command, where)));
  const why = callerRefusal(session, command, caller);
  if (why !== null) return refused(session, why);
  // A prompt may be a repeat, which is answered as it was the first time.
  const isPrompt = command.type === "prompt" || command.type === "steer";
  const forbidden = isPrompt ? null : boundRefusal(session, command);
  if (forbidden !== null) return refused(session, forbidden);
  if (command.type === "create") return instance.create(command);
  if (session === null) return refused(null, refusal("session_not_found"));
  return decideBy(session, command);
}

/** Refuses a command that is not this caller's to give; the server may give any. */
function callerRefusal(
  session: Session | null,
  command: Command,
  caller: CommandCaller,
): Refusal | null {
  const { actor, type } = command;
  if (actor.kind === "server") return null;
  if ((caller === "agent") !== (actor.kind === "agent") || caller === "server") {
    return refusal("actor_not_allowed", { trigger: type, actor: actor.kind });
  }
  if (actor.kind === "agent") return staleRefusal(session, command, actor.activation);
  if (session === null || caller === "client") return null;
  const { clientId, userId } = actor;
  if (clientId === null) {
    const required = { errorKind: "client_id_required" };
    return caller === "named" ? refusal("client_id_required", required) : null;
  }
  if (isRegistered(session, clientId, userId)) return null;
  return refusal("invalid_client_id", { sessionId: session.sessionId, clientId });
}

/** Refuses the word of an agent that this session had before. */
function staleRefusal(session: Session | null, command: Command, activation: number) {
  if (session === null || session.activation === activation) return null;
  return refusal("agent_out_of_turn", details(session, command, conditionOf(session)));
}

/** Every command but the one that comes before there is a session. */
type LaterType = Exclude<CommandType, "create">;

function decideBy<Type extends LaterType>(session: Session, command: Command<Type>): Decision {
  const decider: Decider<Type> = DECIDERS[command.type];
  return decider(session, command);
}

type Decider<Type extends LaterType> = (session: Session, command: Command<Type>) => Decision;

/** A new command does not compile until it has a decider. */
const DECIDERS: { readonly [Type in LaterType]: Decider<Type> } = {
  resume: instance.resume,
  stop: instance.stop,
  close: instance.close,
  recovery: instance.recover,
  store_failure: instance.recover,

  activate: agent.activate,
  agent_status: agent.report,
  agent_exit: agent.exit,
  agent_unavailable: agent.unavailable,
  instructed: agent.instructed,
  agent_offer: agent.offered,
  agent_update: output.update,
  usage: output.usage,

  prompt: prompt.prompt,
  begin_turn: prompt.begin,
  command_result: prompt.answer,
  remove_prompt: prompt.remove,
  refuse_prompt: prompt.refuse,
  steer: prompt.steer,
  take_messages: prompt.takeMessages,
  cancel: stop.cancel,
  reserve_slice: output.reserveSlice,
  deadline_passed: stop.deadlinePassed,
  limit_passed: stop.limitPassed,
  commit_refused: stop.commitRefused,

  start_child: child.start,
  child_update: child.update,
  child_usage: child.usage,
  child_ended: child.ended,

  attach_workflow: workflow.attach,
  begin_stage: workflow.beginStage,
  prompt_stage: workflow.promptStage,
  steer_workflow: workflow.steerWorkflow,
  abort_workflow: workflow.abortWorkflow,

  ask: ask.ask,
  access: ask.access,
  ask_withdrawn: stop.askWithdrawn,
  vote: vote.vote,
  voter_gone: voter.voterGone,
  revoke_grant: vote.revokeGrant,

  metadata: setting.metadata,
  model: setting.model,
  approval_mode: setting.approvalMode,
  autonomy: setting.autonomy,
  agent_mode: setting.agentMode,
  agent_option: setting.agentOption,
  sandbox: setting.sandbox,
  visibility: setting.visibility,
  reload_skills: setting.reloadSkills,
  reload_persona: setting.reloadPersona,
  change_agent: setting.changeAgent,
  change_cwd: setting.changeCwd,
  set_budget: setting.setBudget,

  attach: client.attach,
  detach: client.detach,
  client_expiry: client.expire,
  shell_started: client.shellStarted,
  shell_output: client.shellOutput,
  shell_result: client.shellResult,

  announce: output.announce,
};

function details(session: Session | null, command: Command, state: Condition) {
  const trigger = command.type === "agent_status" ? command.status : command.type;
  return { ...(session && { sessionId: session.sessionId }), state, trigger };
}
