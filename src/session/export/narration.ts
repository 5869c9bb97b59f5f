import { type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { type EventTypeThat, eventIs } from "../../core/session/event-table.ts";
import { partsOf } from "../../core/session/model-config.ts";
import type { AskEnd } from "../../core/session/reason.ts";
import type { ModelConfig } from "../../core/session/state.ts";
import { code, exitText, type Passage, plain, type Speaker, type Word } from "./passage.ts";

type NarratedType = EventTypeThat<"narrated">;

type Teller<Type extends NarratedType> = (data: SessionEvent<Type>["data"]) => Passage | null;

/**
 * What a person who reads a session later is told of each event; null is nothing. Votes,
 * money and the comings and goings of clients are for those who read the JSON formats. A new event
 * type does not compile until somebody decides.
 */
const NARRATION: { readonly [Type in NarratedType]: Teller<Type> } = {
  session_created: ({ creation }) => {
    const { activeAgent, modelConfig, securityMode } = creation;
    const { modelId } = modelConfig;
    const model = modelId === null ? [] : [", model ", code(modelId)];
    const mode = [", security mode ", code(securityMode), "."];
    return { kind: "sentence", words: ["Agent ", code(activeAgent), ...model, ...mode] };
  },
  agent_connected: ({ context }) =>
    context === "seeded" ? note("The agent began afresh and was told the conversation.") : null,
  session_drift: ({ changes }) => {
    return fact("changed meanwhile", plain(changes.map(({ what }) => what).join(", ")));
  },

  session_update: ({ update }) => told(update.sessionUpdate, update),
  mid_turn_message_injected: ({ messages }) => ({ kind: "meanwhile", markdowns: messages }),
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
  skill_invoked: ({ skill }) => fact("skill", code(skill)),

  permission_resolved: ({ reason }) => {
    const said = UNANSWERED[reason];
    return said === undefined ? null : fact("permission", said);
  },
  agent_access: ({ access, allowed, by }) => {
    const what = access.action === "terminal" ? access.command : access.path;
    if (!allowed) return fact(`${access.action} refused`, code(what));
    // What an ask covers is told as the call that asked for it; reading is not worth a line.
    return by === "ask" || access.action === "read" ? null : fact(access.action, code(what));
  },
  session_grant_revoked: ({ key, reason }) =>
    reason === undefined ? null : fact("grant", code(key), " was dropped: its rules have changed"),

  model_switched: ({ modelId }) => fact("model", code(modelId)),
  model_switch_failed: ({ requestedModelId, error }) =>
    fact("model", code(requestedModelId), " was not taken: ", plain(error)),
  model_config_changed: ({ from, to }) => modelSettings(from, to),
  approval_mode_changed: ({ next }) => fact("approval mode", code(next)),
  autonomy_profile_changed: ({ to }) => fact("autonomy", code(to)),
  agent_mode_changed: ({ to }) => fact("agent mode", to === null ? "as it usually is" : code(to)),
  skills_reloaded: ({ to }) => fact("skills", `reloaded, version ${to.version}`),
  persona_reloaded: ({ to }) => fact("persona", `reloaded, version ${to.version}`),
  active_agent_changed: ({ to }) => fact("agent", code(to)),
  session_cwd_changed: ({ to }) => fact("directory", code(to)),

  user_shell_result: ({ command, output, exitCode, signal }) => {
    return { kind: "shell", command, output, end: exitText({ exitCode, signal }) };
  },

  session_branched: ({ newSessionId }) => fact("branched", code(newSessionId)),
  secret_redacted: () => note("A secret was taken out of the text."),
  agent_setting_refused: ({ setting, value, reason }) =>
    fact(setting, code(String(value ?? "unknown")), " was not taken: ", plain(reason)),
};

/** Asks that ended without anybody's answer, while their turn went on or was lost. */
const UNANSWERED: { readonly [Reason in AskEnd]?: string } = {
  timeout: "nobody answered in time",
  withdrawn: "the agent took its request back",
  agent_gone: "the agent was gone before anybody answered",
};

/** The passage that an event is told by; null if it has none. */
export function narrated(event: LogEvent): Passage | null {
  return eventIs(event, "narrated") ? tell(event) : null;
}

function tell<Type extends NarratedType>(event: SessionEvent<Type>): Passage | null {
  const teller: Teller<Type> = NARRATION[event.type];
  return teller(event.data);
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
