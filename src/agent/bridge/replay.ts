import { type AgentUpdate, type ContentBlock, chunkText } from "../../core/agent-update.ts";
import { isObject, stringAt } from "../../core/json.ts";
import {
  AGENT_QUEUE_CHARS_MAX,
  AGENT_REPLAY_BEGIN_MS_MAX,
  AGENT_REPLAY_QUIET_MS,
  AGENT_REPLAY_WAIT_MS_MAX,
} from "../../core/limits.ts";
import type { FaultLog } from "../fault.ts";

interface Heard {
  readonly update: AgentUpdate;
  readonly chars: number;
}

/**
 * What an agent sends again when it loads a session. The conversation is dropped, because our own
 * log is the truth; of what says how things are now, the latest of each kind is kept. Some agents
 * answer first and send the rest behind their answer: until the first prompt is sent, what they
 * say of the conversation is of the past, and that prompt waits until they have fallen silent. In
 * the first turn the user's words are still of the past, unless they are those of its prompt.
 */
export class Replay {
  readonly #states = new Map<string, Heard>();
  readonly #faults: FaultLog;
  /** Whether anything is read of the agent at present: else its silence says nothing. */
  readonly #isRead: () => boolean;
  #phase: "loading" | "behind" | "first turn" | "over" | "endless" = "loading";
  /** Whether anything of the conversation was said again. */
  #hasBegun = false;
  #isQuiet = false;
  /** What was said to the agent in the first turn, which it may say again. */
  #sent: readonly ContentBlock[] = [];
  #quiet: NodeJS.Timeout | undefined;
  #limit: NodeJS.Timeout | undefined;
  #wanted: (() => void) | null = null;

  constructor(faults: FaultLog, isRead: () => boolean) {
    this.#faults = faults;
    this.#isRead = isRead;
  }

  /** Answers whether it was of the past, so that nobody else hears it. */
  heard(update: AgentUpdate, chars: number): boolean {
    const { sessionUpdate } = update;
    switch (this.#phase) {
      case "loading":
        this.#keep(update, chars);
        return true;
      case "behind":
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

  /** The agent has answered, and these are the latest states that it told before. */
  answered(): readonly Heard[] {
    this.#phase = "behind";
    this.#awaitQuiet();
    return [...this.#states.values()];
  }

  /** Whether a prompt may be sent now; if so, what the agent says from here on is news. */
  passes(): boolean {
    if (this.#phase === "first turn") this.#setOver();
    if (this.#phase === "behind" && this.#isQuiet) this.#phase = "first turn";
    return this.#phase !== "behind";
  }

  /** This was said to the agent. */
  sent(content: readonly ContentBlock[]) {
    if (this.#phase === "first turn") this.#sent = [...this.#sent, ...content];
  }

  /** Calls once when it is over, or has lasted for too long. */
  whenOver(go: () => void) {
    this.#wanted = go;
    this.#limit = setTimeout(() => this.#giveUp(), AGENT_REPLAY_WAIT_MS_MAX);
  }

  /** There is no prompt any more that would wait for it. */
  callOff() {
    this.#wanted = null;
    clearTimeout(this.#limit);
  }

  end() {
    this.callOff();
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
      // What lies in the pipe by now was said in time, and is read before this comes.
      setImmediate(() => this.#quietSince(timer));
    }, ms);
    this.#quiet = timer;
  }

  #quietSince(timer: NodeJS.Timeout) {
    if (this.#quiet !== timer || this.#phase !== "behind") return;
    if (!this.#isRead()) return this.#awaitQuiet();
    this.#isQuiet = true;
    if (this.#wanted !== null) this.#goOn("first turn");
  }

  /** It goes on without end: then at least nobody's words are told as if they were said now. */
  #giveUp() {
    this.#faults.add("endless_replay", `for ${AGENT_REPLAY_WAIT_MS_MAX} ms`);
    this.#goOn("endless");
  }

  #setOver() {
    this.#phase = "over";
    this.#sent = [];
  }

  #goOn(phase: "first turn" | "endless") {
    const go = this.#wanted;
    this.#phase = phase;
    this.end();
    go?.();
  }
}

/** Whether an agent says again what it was just told, or begins to. */
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
]);
