import {
  type AgentUpdate,
  chunkText,
  parentToolCallId,
  toolCallNews,
} from "../../core/agent-update.ts";
import { isObject, stringAt } from "../../core/json.ts";
import { SECRET_CHARS_MIN, SECRET_HELD_MS, SECRET_STREAMS_MAX } from "../../core/limits.ts";
import {
  exitIn,
  isToolCall,
  outputDeltas,
  outputUpdate,
  withDelta,
} from "../../core/terminal-output.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { SessionWorld } from "../world.ts";

interface HeldTextDeps {
  readonly world: Pick<SessionWorld, "borders" | "clock">;
  /** Pending while the session's store is behind. */
  send(update: AgentUpdate): Promise<void> | undefined;
  /** A secret was taken out of the text here. */
  redacted(): void;
}

/** A piece of a text that an agent sends bit by bit. */
interface TextPiece {
  /** Pieces of one text have the same name. */
  readonly stream: string;
  readonly text: string;
  /** No further piece comes. */
  readonly isLast: boolean;
  /** Whether an update that adds no text ends this one, passes beside it, or is something else. */
  follow(update: AgentUpdate): "end" | "beside" | "other";
  /** The same update with another text in it. */
  with(text: string): AgentUpdate;
  /** An update with nothing but this text. */
  bare(text: string): AgentUpdate;
}

const REDACTED = "[redacted]";

/**
 * Keeps a secret that an agent says in two chunks from being sent in two halves (P11). The end of a
 * chunk that begins a known secret is held until the next chunk of the same text, for
 * `SECRET_HELD_MS`, or to the end of the command or the turn; then it is sent as it is. Updates
 * that show nothing in the conversation pass it. Anything else that the agent does sends it first,
 * so that the order stays; an end of `SECRET_CHARS_MIN` characters and more is redacted then,
 * because the rest of the secret may follow. What was sent is remembered: if the next chunk ends
 * the secret, that part of it is redacted.
 */
export class HeldText {
  readonly #deps: HeldTextDeps;
  #held: { readonly piece: TextPiece; readonly text: string } | null = null;
  /** The beginnings of secrets that were sent last, by stream. */
  readonly #sent = new BoundedMap<string, string>(SECRET_STREAMS_MAX);
  #callOff: CallOff | null = null;

  constructor(deps: HeldTextDeps) {
    this.#deps = deps;
  }

  /** Takes an update of the agent, and sends what may be sent of it. */
  pass(update: AgentUpdate): Promise<void> | undefined {
    const { borders } = this.#deps.world;
    const isUnsuspected = this.#held === null && this.#sent.size === 0;
    if (isUnsuspected && borders.openTail(textIn(update)) === 0) return this.#deps.send(update);
    const piece = pieceOf(update);
    if (piece !== null) {
      if (piece.stream !== this.#held?.piece.stream) this.interrupt();
      return this.#join(update, piece);
    }
    const follow = this.#held?.piece.follow(update) ?? "beside";
    if (follow === "end") this.#releaseHeld();
    else if (follow === "other") this.interrupt();
    return this.#deps.send(update);
  }

  /** The agent does something else, and may go on with the text afterwards. */
  interrupt() {
    const held = this.#take();
    if (held === null) return;
    const { piece, text } = held;
    const whole = (this.#sent.get(piece.stream) ?? "") + text;
    const isSecret = whole.length >= SECRET_CHARS_MIN;
    this.#sent.set(piece.stream, whole);
    void this.#deps.send(piece.bare(isSecret ? REDACTED : text));
    if (isSecret) this.#deps.redacted();
  }

  /** The turn ends, and with it the text. */
  release() {
    this.#releaseHeld();
    this.#sent.clear();
  }

  /** The agent is not heard any more: what is held is dropped. */
  end() {
    this.#take();
    this.#sent.clear();
  }

  #join(update: AgentUpdate, piece: TextPiece): Promise<void> | undefined {
    const { borders } = this.#deps.world;
    let sent = this.#sent.get(piece.stream) ?? "";
    let text = (this.#take()?.text ?? "") + piece.text;
    const end = sent === "" ? null : borders.endAcross(sent + text, sent.length);
    if (end !== null) {
      text = REDACTED + (sent + text).slice(end);
      sent = "";
      this.#deps.redacted();
    }
    const open = piece.isLast ? 0 : borders.openTail(sent + text);
    const cut = text.length - Math.min(open, text.length);
    // What was sent matters only as long as a secret may still begin in it.
    this.#remember(
      piece.stream,
      open > text.length ? (sent + text).slice(-open, -text.length) : "",
    );
    const head = text.slice(0, cut);
    if (cut < text.length) this.#hold(piece, text.slice(cut));
    if (cut === text.length && text === piece.text) return this.#deps.send(update);
    const isWhole = head === "" && isBare(update, piece);
    return isWhole ? undefined : this.#deps.send(piece.with(head));
  }

  #remember(stream: string, sent: string) {
    if (sent === "") this.#sent.delete(stream);
    else this.#sent.set(stream, sent);
  }

  #hold(piece: TextPiece, text: string) {
    const { clock } = this.#deps.world;
    this.#held = { piece, text };
    // Of a server that was busy for so long the next chunk may have come already: it is read first.
    this.#callOff = clock.after(SECRET_HELD_MS, () => {
      this.#callOff = clock.after(0, () => this.#releaseHeld());
    });
  }

  #releaseHeld() {
    const held = this.#take();
    if (held === null) return;
    const { piece, text } = held;
    this.#sent.set(piece.stream, (this.#sent.get(piece.stream) ?? "") + text);
    void this.#deps.send(piece.bare(text));
  }

  #take() {
    const held = this.#held;
    this.#held = null;
    this.#callOff?.();
    this.#callOff = null;
    return held;
  }
}

const CHUNKS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "compaction_summary_chunk",
]);

/** Updates that have no place in the conversation. */
const BESIDE: ReadonlySet<string> = new Set([
  "plan",
  "plan_update",
  "plan_removed",
  "notice",
  "usage_update",
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
]);

/** The text that an update adds to, for a first look; empty if it adds to none. */
function textIn(update: AgentUpdate): string {
  if (CHUNKS.has(update.sessionUpdate)) return chunkText(update) ?? "";
  if (!isToolCall(update) || update._meta === undefined) return "";
  return outputDeltas(update).at(-1)?.data ?? "";
}

/** Null if it is anything else, such as an empty chunk, which ends a text. */
function pieceOf(update: AgentUpdate): TextPiece | null {
  if (CHUNKS.has(update.sessionUpdate)) return chunkPiece(update);
  return isToolCall(update) ? outputPiece(update) : null;
}

function chunkPiece(update: AgentUpdate): TextPiece | null {
  const { sessionUpdate, content, messageId, compactionId } = update;
  const text = chunkText(update);
  if (text === null || text === "" || !isObject(content)) return null;
  const parent = parentToolCallId(update);
  const ids = {
    ...(messageId !== undefined && { messageId }),
    ...(compactionId !== undefined && { compactionId }),
    ...(parent !== null && { _meta: { parentToolCallId: parent } }),
  };
  return {
    stream: JSON.stringify([sessionUpdate, messageId ?? compactionId ?? null, parent]),
    text,
    isLast: false,
    follow: ({ sessionUpdate: next }) => (BESIDE.has(next) ? "beside" : "other"),
    with: (changed) => ({ ...update, content: { ...content, text: changed } }),
    bare: (rest) => ({ sessionUpdate, content: { type: "text", text: rest }, ...ids }),
  };
}

function outputPiece(update: AgentUpdate): TextPiece | null {
  const [delta, ...others] = outputDeltas(update);
  const toolCallId = stringAt(update, "toolCallId");
  if (delta === undefined || others.length > 0 || toolCallId === null) return null;
  const { terminalId, data: text } = delta;
  if (text === "") return null;
  return {
    stream: JSON.stringify(["terminal", toolCallId, terminalId]),
    text,
    isLast: isEnd(update, terminalId),
    follow: (next) => {
      if (BESIDE.has(next.sessionUpdate)) return "beside";
      const isSame = isToolCall(next) && stringAt(next, "toolCallId") === toolCallId;
      if (!isSame || outputDeltas(next).length > 0) return "other";
      if (isEnd(next, terminalId)) return "end";
      return next.content === undefined ? "beside" : "other";
    },
    with: (changed) => withDelta(update, changed),
    bare: (rest) => outputUpdate(toolCallId, { terminalId, data: rest, exit: null }),
  };
}

/** Whether a terminal writes nothing after this update of its tool call. */
function isEnd(update: AgentUpdate, terminalId: string): boolean {
  if (exitIn(update)?.terminalId === terminalId) return true;
  const status = toolCallNews(update)?.status ?? "open";
  return status !== "open";
}

/** Whether an update has nothing but its text, so that it need not be sent without. */
function isBare(update: AgentUpdate, piece: TextPiece): boolean {
  return sizeOf(update) === sizeOf(piece.bare(piece.text));
}

function sizeOf(update: AgentUpdate): number {
  return JSON.stringify(update).length;
}
