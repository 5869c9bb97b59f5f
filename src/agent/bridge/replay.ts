import { type AgentUpdate, type ContentBlock, chunkText } from "../../core/agent-update.ts";
import { isObject, stringAt } from "../../core/json.ts";
import {
  AGENT_QUEUE_CHARS_MAX,
  AGENT_REPLAY_BEGIN_MS_MAX,
  AGENT_REPLAY_QUIET_MS,
  AGENT_REPLAY_WAIT_MS_MAX,
} from "../../core/limits.ts";
import type { FaultLog } from "../fault.ts";

interface ReceivedUpdate {
  readonly update: AgentUpdate;
  readonly chars: number;
}

/**
 * What an agent sends again when it loads a session. The server drops the conversation, because
 * its own log is the truth, and keeps the latest of each kind of state. Some agents answer first
 * and send the rest after the answer: so until the first prompt all conversation is replay, and
 * that prompt waits until the agent is quiet. In the first turn user messages are still replay,
 * unless they repeat its prompt.
 */
export class AgentReplay {
  readonly #states = new Map<string, ReceivedUpdate>();
  readonly #faults: FaultLog;
  /** Whether the connection is reading: else quiet means nothing. */
  readonly #isReading: () => boolean;
  #phase: "loading" | "after answer" | "first turn" | "over" | "endless" = "loading";
  /** Whether the agent has replayed any conversation. */
  #hasBegun = false;
  #isQuiet = false;
  /** What the server sent in the first turn, which the agent may repeat. */
  #sent: readonly ContentBlock[] = [];
  #quiet: NodeJS.Timeout | undefined;
  #limit: NodeJS.Timeout | undefined;
  #waiting: (() => void) | null = null;

  constructor(faults: FaultLog, isReading: () => boolean) {
    this.#faults = faults;
    this.#isReading = isReading;
  }

  /** Answers whether the update is replay, which nothing else may see. */
  takes(update: AgentUpdate, chars: number): boolean {
    const { sessionUpdate } = update;
    switch (this.#phase) {
      case "loading":
        this.#keep(update, chars);
        return true;
      case "after answer":
        if (!CONVERSATION_KINDS.has(sessionUpdate)) return false;
        this.#hasBegun = true;
        this.#awaitQuiet();
        return true;
      case "first turn":
        if (sessionUpdate !== "user_message_chunk") return false;
        if (!isEcho(update, this.#sent)) return true;
        this.#setOver();
        return false;
      case "endless":
        return sessionUpdate === "user_message_chunk";
      case "over":
        return false;
    }
  }

  /** The agent has answered the load. Returns the latest states that it sent before. */
  answered(): readonly ReceivedUpdate[] {
    this.#phase = "after answer";
    this.#awaitQuiet();
    return [...this.#states.values()];
  }

  /** Whether a prompt may be sent now; if so, what the agent sends from here on is new. */
  mayPrompt(): boolean {
    if (this.#phase === "first turn") this.#setOver();
    if (this.#phase === "after answer" && this.#isQuiet) this.#phase = "first turn";
    return this.#phase !== "after answer";
  }

  /** Notes what the server sent to the agent. */
  sent(content: readonly ContentBlock[]) {
    if (this.#phase === "first turn") this.#sent = [...this.#sent, ...content];
  }

  /** Calls `go` once, when the replay is over or has lasted too long. */
  whenOver(go: () => void) {
    this.#waiting = go;
    this.#limit = setTimeout(() => this.#giveUp(), AGENT_REPLAY_WAIT_MS_MAX);
  }

  /** No prompt waits for it any more. */
  stopWaiting() {
    this.#waiting = null;
    clearTimeout(this.#limit);
  }

  end() {
    this.stopWaiting();
    clearTimeout(this.#quiet);
  }

  #keep(update: AgentUpdate, chars: number) {
    const { sessionUpdate } = update;
    if (CONVERSATION_KINDS.has(sessionUpdate)) this.#hasBegun = true;
    if (!STATE_KINDS.has(sessionUpdate)) return;
    if (chars > AGENT_QUEUE_CHARS_MAX) this.#faults.add("dropped_update", sessionUpdate);
    else this.#states.set(sessionUpdate, { update, chars });
  }

  #awaitQuiet() {
    clearTimeout(this.#quiet);
    this.#isQuiet = false;
    const ms = this.#hasBegun ? AGENT_REPLAY_QUIET_MS : AGENT_REPLAY_BEGIN_MS_MAX;
    const timer = setTimeout(() => {
      // What is in the pipe by now came in time, and is read before this runs.
      setImmediate(() => this.#quietSince(timer));
    }, ms);
    this.#quiet = timer;
  }

  #quietSince(timer: NodeJS.Timeout) {
    if (this.#quiet !== timer || this.#phase !== "after answer") return;
    if (!this.#isReading()) return this.#awaitQuiet();
    this.#isQuiet = true;
    if (this.#waiting !== null) this.#goOn("first turn");
  }

  /** The agent does not stop: later user messages must not appear as new ones. */
  #giveUp() {
    this.#faults.add("endless_replay", `for ${AGENT_REPLAY_WAIT_MS_MAX} ms`);
    this.#goOn("endless");
  }

  #setOver() {
    this.#phase = "over";
    this.#sent = [];
  }

  #goOn(phase: "first turn" | "endless") {
    const go = this.#waiting;
    this.#phase = phase;
    this.end();
    go?.();
  }
}

/** Whether the agent repeats what the server has just sent, or begins to. */
function isEcho(update: AgentUpdate, sent: readonly ContentBlock[]): boolean {
  const text = chunkText(update)?.trim();
  if (text === undefined) {
    const { content } = update;
    return isObject(content) && sent.some(({ type }) => type === content.type);
  }
  const texts = sent.map((block) => stringAt(block, "text")?.trim() ?? "");
  return text !== "" && texts.some((one) => one.startsWith(text));
}

const STATE_KINDS: ReadonlySet<string> = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
]);

const CONVERSATION_KINDS: ReadonlySet<string> = new Set([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
  "plan_update",
  "plan_removed",
  "compaction_update",
  "compaction_summary_chunk",
]);
