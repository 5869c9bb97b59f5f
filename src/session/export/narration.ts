import { type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import { isEventType } from "../../core/replay/fold.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import { codeSpan, fenced, inline, prose, quoted } from "./markdown-text.ts";

type Teller<Type extends EventType> = (data: SessionEvent<Type>["data"]) => string | null;

/**
 * What a person who reads a session later is told of each event; null is nothing. Thoughts,
 * votes, money and the comings and goings of clients are for those who read the other formats. A
 * new event type does not compile until somebody decides.
 */
const NARRATION: { readonly [Type in EventType]: Teller<Type> | null } = {
  session_created: ({ creation }) => {
    const { activeAgent, modelConfig, securityMode } = creation;
    const model = modelConfig.modelId === null ? "" : `, model ${codeSpan(modelConfig.modelId)}`;
    const agent = `Agent ${codeSpan(activeAgent)}${model}`;
    return `${agent}, security mode ${codeSpan(securityMode)}.`;
  },
  session_status: null,
  session_lifecycle: null,
  agent_connected: ({ context }) =>
    context === "seeded" ? note("The agent began afresh and was told the conversation.") : null,
  session_died: null,
  session_closed: null,

  prompt_admitted: null,
  pending_prompt_added: null,
  pending_prompt_started: null,
  pending_prompt_completed: null,
  session_update: ({ update }) => told(update.sessionUpdate, update),
  mid_turn_message_injected: ({ messages }) =>
    [note("Said meanwhile:"), ...messages.map((text) => quoted(prose(text)))].join("\n\n"),
  prompt_cancelled: null,
  turn_complete: ({ stopReason, turnId }) => {
    if (stopReason !== "cancelled") return null;
    return note(turnId === undefined ? "Taken back before it ran." : "Cancelled.");
  },
  turn_error: ({ code, message, partialOutput }) => {
    const partial = partialOutput ? " What was said above is not all." : "";
    return `**Failed** (${codeSpan(code)}): ${inline(message)}${partial}`;
  },
  command_result: null, // Its text is said as well.

  permission_request: null,
  permission_decided: null,
  permission_resolved: ({ reason }) =>
    reason === "timeout" ? line("permission", "nobody answered in time") : null,
  permission_already_resolved: null,
  permission_partial_vote: null,
  permission_forbidden: null,
  session_grant_added: null,
  session_grant_revoked: null,

  credits_reserved: null,
  credits_settled: null,
  usage_reported: null,

  session_metadata_updated: null,
  model_switched: ({ modelId }) => line("model", codeSpan(modelId)),
  model_switch_failed: ({ requestedModelId, error }) =>
    line("model", `${codeSpan(requestedModelId)} was not taken: ${inline(error)}`),
  approval_mode_changed: ({ next }) => line("approval mode", codeSpan(next)),
  sandbox_changed: null,
  skills_reloaded: ({ to }) => line("skills", `reloaded, version ${to.version}`),
  persona_reloaded: ({ to }) => line("persona", `reloaded, version ${to.version}`),
  active_agent_changed: ({ to }) => line("agent", codeSpan(to)),
  session_cwd_changed: ({ to }) => line("directory", codeSpan(to)),
  session_budget_changed: null,

  client_attached: null,
  client_detached: null,
  client_expired: null,
  user_shell_command: null, // Its result repeats it.
  user_shell_result: ({ command, output, exitCode, signal }) => {
    const end = exitCode === null ? (signal ?? "aborted") : `exit code ${exitCode}`;
    return `${line("shell", inline(end))}\n\n${fenced(`$ ${command}\n${output}`)}`;
  },

  session_branched: ({ newSessionId }) => line("branched", codeSpan(newSessionId)),
  child_session_started: ({ childId }) => line("child session", codeSpan(childId)),
  child_session_ended: null,
  secret_redacted: () => note("A secret was taken out of the text."),
  followup_suggestion: null,
  credits_warning: null,
  artifact_changed: null,
  session_recording_degraded: null,
  background_notification_turn_complete: null,
};

export function narrated<Type extends EventType>(event: LogEvent & SessionEvent<Type>) {
  if (!isEventType(event.type)) return null; // A newer version's event has no words here.
  const tell: Teller<Type> | null = NARRATION[event.type];
  return tell === null ? null : tell(event.data);
}

export const note = (text: string) => `*${text}*`;

/** A bullet that agents hardly ever use, so that a list of theirs does not go on into ours. */
const line = (what: string, text: string) => `+ **${what}** ${text}`;

type Update = { readonly [key: string]: unknown; readonly sessionUpdate: string };

function told(kind: string, update: Update): string | null {
  if (parentToolCallId(update) !== null) return null; // The call that it stands under is told.
  if (kind === "user_message_chunk") {
    const isPrompt = objectAt(update, "_meta")?.source === "bridge-echo";
    const text = isPrompt ? blockText(update.content) : null;
    return text === null ? null : quoted(text);
  }
  if (kind === "agent_message_chunk") return blockText(update.content);
  return kind === "tool_call" || kind === "tool_call_update" ? toolLine(update) : null;
}

function blockText(content: unknown): string | null {
  if (!isObject(content)) return null;
  const text = stringAt(content, "text");
  if (content.type === "text") return text === null || text.trim() === "" ? null : prose(text);
  return note(inline(`[${blockName(content)}]`));
}

function blockName(content: Partial<ContentBlock>): string {
  const uri = stringAt(content, "uri") ?? stringAt(objectAt(content, "resource") ?? {}, "uri");
  const type = stringAt(content, "type") ?? "something";
  return uri === null ? type : `${type}: ${uri}`;
}

function toolLine(update: Update): string {
  const named = stringAt(update, "title") || stringAt(update, "toolCallId") || "tool";
  const kind = stringAt(update, "kind");
  const status = stringAt(update, "status");
  const isFailed = status === "failed";
  const end = isFailed ? " — **failed**" : status === null ? "" : ` — ${inline(status)}`;
  return line("tool", `${codeSpan(named)}${kind === null ? "" : ` (${inline(kind)})`}${end}`);
}
