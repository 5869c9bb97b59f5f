import { type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import { isEventType } from "../../core/replay/fold.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import { partsOf } from "../../core/session/model-config.ts";
import type { AskEnd } from "../../core/session/reason.ts";
import type { ModelConfig } from "../../core/session/state.ts";
import { code, exitText, type Passage, plain, type Speaker, type Word } from "./passage.ts";

type Teller<Type extends EventType> = (data: SessionEvent<Type>["data"]) => Passage | null;

/**
 * What a person who reads a session later is told of each event; null is nothing. Votes,
 * money and the comings and goings of clients are for those who read the JSON formats. A new event
 * type does not compile until somebody decides.
 */
const NARRATION: { readonly [Type in EventType]: Teller<Type> | null } = {
  session_created: ({ creation }) => {
    const { activeAgent, modelConfig, securityMode } = creation;
    const { modelId } = modelConfig;
    const model = modelId === null ? [] : [", model ", code(modelId)];
    const mode = [", security mode ", code(securityMode), "."];
    return { kind: "sentence", words: ["Agent ", code(activeAgent), ...model, ...mode] };
  },
  session_status: null,
  session_lifecycle: null,
  agent_connected: ({ context }) =>
    context === "seeded" ? note("The agent began afresh and was told the conversation.") : null,
  instructions_sent: null,
  session_drift: ({ changes }) => {
    return fact("changed meanwhile", plain(changes.map(({ what }) => what).join(", ")));
  },
  session_died: null,
  session_closed: null,

  prompt_admitted: null,
  pending_prompt_added: null,
  pending_prompt_started: null,
  pending_prompt_completed: null,
  session_update: ({ update }) => told(update.sessionUpdate, update),
  mid_turn_message_injected: ({ messages }) => ({ kind: "meanwhile", markdowns: messages }),
  prompt_cancelled: null,
  turn_complete: ({ stopReason, turnId }) => {
    if (stopReason !== "cancelled") return null;
    return note(turnId === undefined ? "Taken back before it ran." : "Cancelled.");
  },
  turn_error: ({ partialOutput, ...error }) => ({
    kind: "failure",
    code: error.code,
    message: error.message,
    isPartial: partialOutput === true,
  }),
  command_result: null, // Its text is said as well.
  skill_invoked: ({ skill }) => fact("skill", code(skill)),

  permission_request: null,
  permission_decided: null,
  permission_resolved: ({ reason }) => {
    const said = UNANSWERED[reason];
    return said === undefined ? null : fact("permission", said);
  },
  permission_already_resolved: null,
  permission_partial_vote: null,
  permission_voter_left: null,
  permission_forbidden: null,
  agent_access: ({ access, allowed, by }) => {
    const what = access.action === "terminal" ? access.command : access.path;
    if (!allowed) return fact(`${access.action} refused`, code(what));
    // What an ask covers is told as the call that asked for it; reading is not worth a line.
    return by === "ask" || access.action === "read" ? null : fact(access.action, code(what));
  },
  session_grant_added: null,
  session_grant_revoked: ({ key, reason }) =>
    reason === undefined ? null : fact("grant", code(key), " was dropped: its rules have changed"),

  credits_reserved: null,
  credits_settled: null,
  usage_reported: null,

  session_metadata_updated: null,
  model_switched: ({ modelId }) => fact("model", code(modelId)),
  model_switch_failed: ({ requestedModelId, error }) =>
    fact("model", code(requestedModelId), " was not taken: ", plain(error)),
  model_config_changed: ({ from, to }) => modelSettings(from, to),
  approval_mode_changed: ({ next }) => fact("approval mode", code(next)),
  autonomy_profile_changed: ({ to }) => fact("autonomy", code(to)),
  agent_mode_changed: ({ to }) => fact("agent mode", to === null ? "as it usually is" : code(to)),
  sandbox_changed: null,
  skills_reloaded: ({ to }) => fact("skills", `reloaded, version ${to.version}`),
  persona_reloaded: ({ to }) => fact("persona", `reloaded, version ${to.version}`),
  active_agent_changed: ({ to }) => fact("agent", code(to)),
  session_cwd_changed: ({ to }) => fact("directory", code(to)),
  session_budget_changed: null,

  client_attached: null,
  client_detached: null,
  client_expired: null,
  user_shell_command: null, // Its result repeats it.
  user_shell_result: ({ command, output, exitCode, signal }) => {
    return { kind: "shell", command, output, end: exitText({ exitCode, signal }) };
  },

  session_branched: ({ newSessionId }) => fact("branched", code(newSessionId)),
  child_session_started: ({ childId }) => fact("child session", code(childId)),
  child_session_ended: null,
  secret_redacted: () => note("A secret was taken out of the text."),
  followup_suggestion: null,
  credits_warning: null,
  credits_waiting: null,
  artifact_changed: null,
  session_recording_degraded: null,
  background_notification_turn_complete: null,
  agent_setting_refused: ({ setting, value, reason }) =>
    fact(setting, code(String(value ?? "unknown")), " was not taken: ", plain(reason)),
};

/** Asks that ended without anybody's answer, while their turn went on or was lost. */
const UNANSWERED: { readonly [Reason in AskEnd]?: string } = {
  timeout: "nobody answered in time",
  withdrawn: "the agent took its request back",
  agent_gone: "the agent was gone before anybody answered",
};

/** What there is to tell of an event; null if that is nothing. */
export function narrated<Type extends EventType>(event: LogEvent & SessionEvent<Type>) {
  if (!isEventType(event.type)) return null; // A newer version's event has no words here.
  const tell: Teller<Type> | null = NARRATION[event.type];
  return tell === null ? null : tell(event.data);
}

export function note(text: string): Passage {
  return { kind: "note", text };
}

function fact(about: string, ...words: readonly Word[]): Passage {
  return { kind: "fact", about, words };
}

/** The settings of the model that are others now; the model itself has an event of its own. */
function modelSettings(from: ModelConfig, to: ModelConfig): Passage | null {
  const changed = partsOf(to).filter(({ setting, value }) => {
    return setting !== "modelId" && value !== from[setting];
  });
  const words = changed.flatMap(({ setting, value }, index): readonly Word[] => {
    return [`${index === 0 ? "" : ", "}${setting} `, code(String(value))];
  });
  return words.length === 0 ? null : fact("model", ...words);
}

type Update = { readonly [key: string]: unknown; readonly sessionUpdate: string };

function told(kind: string, update: Update): Passage | null {
  if (parentToolCallId(update) !== null) return null; // The call that it stands under is told.
  if (kind === "user_message_chunk") {
    const isPrompt = objectAt(update, "_meta")?.source === "bridge-echo";
    return isPrompt ? said("user", update.content) : null;
  }
  if (kind === "agent_message_chunk") return said("agent", update.content);
  if (kind === "agent_thought_chunk") return thought(update.content);
  return kind === "tool_call" || kind === "tool_call_update" ? toolCall(update) : null;
}

function said(by: Speaker, content: unknown): Passage | null {
  if (!isObject(content)) return null;
  if (content.type !== "text") return { kind: "attached", by, name: blockName(content) };
  const markdown = stringAt(content, "text") ?? "";
  return markdown.trim() === "" ? null : { kind: "said", by, markdown };
}

function thought(content: unknown): Passage | null {
  const thinking = said("agent", content);
  return thinking?.kind === "said" ? { kind: "thought", markdown: thinking.markdown } : null;
}

export function blockName(content: Partial<ContentBlock>): string {
  const uri = stringAt(content, "uri") ?? stringAt(objectAt(content, "resource") ?? {}, "uri");
  const type = stringAt(content, "type") ?? "something";
  return uri === null ? type : `${type}: ${uri}`;
}

function toolCall(update: Update): Passage {
  const name = stringAt(update, "title") || stringAt(update, "toolCallId") || "tool";
  const sort = stringAt(update, "kind");
  return { kind: "tool", name, sort, status: stringAt(update, "status"), update };
}
