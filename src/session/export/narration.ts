import { type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import type { ChildId, PromptId } from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { compactSegment, type LogEvent } from "../../core/replay/compact.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { type EventTypeThat, eventIs } from "../../core/session/event-table.ts";
import type { AskEnd } from "../../core/session/reason.ts";
import { type ModelConfig, settingsOfModel } from "../../core/session/state.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import type { StoredRecord } from "../../store/store.ts";
import { type Exported, type PastPart, storedEvent, turnEvents, wholePast } from "./source.ts";

type NarratedType = EventTypeThat<"narrated">;

type Teller<Type extends NarratedType> = (data: SessionEvent<Type>["data"]) => Passage | null;

/**
 * What a person who reads a session later is told of each event; null is nothing. Votes,
 * money and the comings and goings of clients are for those who read the JSON formats. A new event
 * type does not compile without a row.
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

  session_update: ({ update }) => updatePassage(update.sessionUpdate, update),
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

  // A child is told as a whole, when it has ended.
  child_session_started: ({ title, agent, task }) => {
    return { kind: "child", title, agent, task, passages: [], end: null };
  },
  child_session_ended: () => null,

  workflow_attached: ({ name }) => fact("workflow", code(name)),
  stage_started: ({ stages, attempt }) =>
    fact("stage", code(stages.join(", ")), attempt === 1 ? "" : `, attempt ${attempt}`),
  stage_ended: ({ stages, outcome, reason }) =>
    fact("stage ended", code(stages.join(", ")), ` ${outcome}`, plain(reason ? `: ${reason}` : "")),
  workflow_paused: ({ message }) => fact("workflow paused", plain(message)),
  workflow_resumed: ({ stages }) => fact("workflow goes on", code(stages.join(", "))),
  workflow_ended: ({ state }) =>
    note(`The workflow has ${state === "ended" ? state : "been stopped"}.`),
  workflow_aborted: ({ reason }) => fact("workflow", "cannot go on: ", plain(reason)),

  permission_resolved: ({ reason }) => {
    const text = UNANSWERED[reason];
    return text === undefined ? null : fact("permission", text);
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
  agent_option_changed: ({ configId, value }) => fact("agent option", code(`${configId}=${value}`)),
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
  usage_suspect: ({ reason, detail }) => fact("usage", code(reason), ": ", plain(detail)),
  extension_disabled: ({ extension, reason }) =>
    fact("extension", code(extension), " was ended: ", plain(reason)),
  extensions_reloaded: ({ reloaded }) => fact("reloaded extensions", code(reloaded.join(", "))),
};

/** Asks that ended without an answer, while their turn went on or was lost. */
const UNANSWERED: { readonly [Reason in AskEnd]?: string } = {
  timeout: "nobody answered in time",
  withdrawn: "the agent took its request back",
  completed: "the page was done with",
  agent_gone: "the agent was gone before anybody answered",
};

/** The passage that an event is told by; null if it has none. */
function narrated(event: LogEvent): Passage | null {
  return eventIs(event, "narrated") ? tell(event) : null;
}

/** The same within a child: its words are its own there, and not those of a sub-agent. */
function narratedOfChild(event: LogEvent, childId: ChildId): Passage | null {
  if (event.type !== "session_update") return narrated(event);
  const { update } = event.data;
  if (parentToolCallId(update) !== childId) return null;
  const { _meta, ...own } = update;
  const { parentToolCallId: _, ...meta } = isObject(_meta) ? _meta : {};
  return updatePassage(update.sessionUpdate, {
    ...own,
    sessionUpdate: update.sessionUpdate,
    _meta: meta,
  });
}

function tell<Type extends NarratedType>(event: SessionEvent<Type>): Passage | null {
  const teller: Teller<Type> = NARRATION[event.type];
  return teller(event.data);
}

function note(text: string): Passage {
  return { kind: "note", text };
}

function fact(about: string, ...words: readonly Word[]): Passage {
  return { kind: "fact", about, words };
}

/** The settings of the model that are others now; the model itself has an event of its own. */
function modelSettings(from: ModelConfig, to: ModelConfig): Passage | null {
  const changed = settingsOfModel(to).filter(({ setting, value }) => {
    return setting !== "modelId" && value !== from[setting];
  });
  const words = changed.flatMap(({ setting, value }, index): readonly Word[] => {
    return [`${index === 0 ? "" : ", "}${setting} `, code(String(value))];
  });
  return words.length === 0 ? null : fact("model", ...words);
}

type NarratedUpdate = { readonly [key: string]: unknown; readonly sessionUpdate: string };

function updatePassage(kind: string, update: NarratedUpdate): Passage | null {
  if (parentToolCallId(update) !== null) return null; // The call of the sub-agent is narrated.
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

function toolCall(update: NarratedUpdate): Passage {
  const name = stringAt(update, "title") || stringAt(update, "toolCallId") || "tool";
  const sort = stringAt(update, "kind");
  return { kind: "tool", name, sort, status: stringAt(update, "status"), update };
}

/**
 * A piece of a session as a person reads it later, before it is put into any format.
 * Texts in it are as people, agents and tools wrote them: a format makes them harmless.
 */
export type Passage =
  | PromptPassage
  | { readonly kind: "said"; readonly by: Speaker; readonly markdown: string }
  | { readonly kind: "attached"; readonly by: Speaker; readonly name: string }
  | { readonly kind: "meanwhile"; readonly markdowns: readonly string[] }
  | { readonly kind: "thought"; readonly markdown: string }
  | ToolPassage
  | ShellPassage
  | { readonly kind: "fact"; readonly about: string; readonly words: Words }
  | { readonly kind: "sentence"; readonly words: Words }
  | { readonly kind: "note"; readonly text: string }
  | ChildPassage
  | FailurePassage;

/** All that a child session did. */
export interface ChildPassage {
  readonly kind: "child";
  readonly title: string;
  readonly agent: string;
  readonly task: string;
  readonly passages: readonly Passage[];
  /** Null if it has none yet. */
  readonly end: { readonly state: string; readonly message: string | null } | null;
}

/** A prompt and what came of it. It is continued if something of another prompt came between. */
export interface PromptPassage {
  readonly kind: "part";
  readonly number: number;
  readonly atMs: number;
  readonly isContinued: boolean;
}

export type Speaker = "user" | "agent";

export interface ToolPassage {
  readonly kind: "tool";
  readonly name: string;
  /** Of the tool: `read`, `edit`, and so on. */
  readonly sort: string | null;
  readonly status: string | null;
  /** All that the agent reported of the call. */
  readonly update: JsonObject;
}

export interface ShellPassage {
  readonly kind: "shell";
  readonly command: string;
  readonly output: string;
  readonly end: string;
}

/** How a command ended, for people. */
export function exitText({ exitCode, signal }: TerminalExit): string {
  return exitCode === null ? (signal ?? "aborted") : `exit code ${exitCode}`;
}

export interface FailurePassage {
  readonly kind: "failure";
  readonly code: string;
  readonly message: string;
  readonly isPartial: boolean;
}

/** A sentence of ours with texts of others in it: those are shown as code, or as they are. */
export type Words = readonly Word[];

export type Word = string | { readonly code: string } | { readonly plain: string };

const code = (text: string): Word => ({ code: text });

const plain = (text: string): Word => ({ plain: text });

/** What a person wants to read: who was asked what, when, and what came of it. */
export async function* passages({ source, record }: Exported): AsyncGenerator<Passage> {
  const narrator = new Narrator();
  for await (const part of wholePast(source, record)) yield* passagesOf(part, narrator);
  yield* narrator.unended();
}

/** What stands above all passages. */
export function opening(record: StoredRecord): { readonly title: string; readonly words: Words } {
  const { displayName, sessionId, workspaceCwd, createdAtMs, updatedAtMs } = record;
  const times = `begun ${instant(createdAtMs)}, last changed ${instant(updatedAtMs)}.`;
  return {
    title: displayName?.trim() || `Session ${sessionId}`,
    words: ["Session ", code(sessionId), " in ", code(workspaceCwd), `,\n${times}`],
  };
}

export function instant(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "at an unknown time";
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function* passagesOf(part: PastPart, narrator: Narrator): Generator<Passage> {
  if (part.kind === "missing") {
    yield note(`${part.notice.data.truncatedEvents} events here are not kept any more.`);
    return;
  }
  const isTurn = part.kind === "turn";
  // Raw events are folded page by page, so that a turn at work reads like one that has ended.
  const events = isTurn ? turnEvents(part.turn) : compactSegment(part.events.map(storedEvent));
  for (const event of events) yield* narrator.tell(event);
}

/** Remembers which prompt is being told, and the words of those that wait. */
class Narrator {
  #prompt: PromptId | null = null;
  #prompts = 0;
  /** The numbers of the prompts that were told of and have no verdict yet. */
  readonly #numbers = new Map<PromptId, number>();
  /** By prompt; a prompt leaves with its verdict, so these are as few as may wait. */
  readonly #waiting = new Map<PromptId, string>();
  /** Children that have begun: as many as a turn may have, each no longer than its turn. */
  readonly #children = new Map<ChildId, ChildPassage>();

  /** Children of a turn that is still at work. */
  *unended(): Generator<Passage> {
    yield* this.#children.values();
  }

  *tell(event: LogEvent): Generator<Passage> {
    if (event.childId !== undefined) return yield* this.#tellOfChild(event, event.childId);
    if (event.type === "pending_prompt_added") {
      this.#waiting.set(event.data.promptId, event.data.text);
    }
    const passage = narrated(event);
    if (passage !== null || isVerdict(event)) yield* this.#newPart(event);
    if (passage !== null) yield passage;
    if (!isVerdict(event)) return;
    this.#waiting.delete(event.data.promptId);
    this.#numbers.delete(event.data.promptId);
  }

  *#tellOfChild(event: LogEvent, childId: ChildId): Generator<Passage> {
    const passage = narratedOfChild(event, childId);
    const child = passage?.kind === "child" ? passage : this.#children.get(childId);
    if (child === undefined) return;
    const told = passage === null || passage === child ? [] : [passage];
    this.#children.set(childId, { ...child, passages: [...child.passages, ...told] });
    if (event.type !== "child_session_ended") return;
    this.#children.delete(childId);
    const { state, error } = event.data;
    yield* this.#newPart(event);
    yield { ...child, end: { state, message: error?.message ?? null } };
  }

  /** What belongs to another prompt than what was told last begins a new part. */
  *#newPart(event: LogEvent): Generator<Passage> {
    const { promptId } = event;
    if (promptId === undefined || promptId === this.#prompt) return;
    this.#prompt = promptId;
    const known = this.#numbers.get(promptId);
    const number = known ?? this.#prompts + 1;
    this.#prompts = Math.max(this.#prompts, number);
    this.#numbers.set(promptId, number);
    const isContinued = known !== undefined;
    yield { kind: "part", number, atMs: event._meta.serverTimestamp, isContinued };
    // A prompt that never ran was never shown; what is known of it are the words it waited with.
    const words = isVerdict(event) ? this.#waiting.get(promptId) : undefined;
    if (words !== undefined) yield { kind: "said", by: "user", markdown: words };
  }
}

function isVerdict(event: LogEvent) {
  return event.type === "turn_complete" || event.type === "turn_error";
}
