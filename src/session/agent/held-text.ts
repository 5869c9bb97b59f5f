import { type AgentUpdate, chunkText, parentToolCallId } from "../../core/agent-update.ts";
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
  /** The same update with another text in it. */
  with(text: string): AgentUpdate;
  /** An update with nothing but this text. */
  bare(text: string): AgentUpdate;
}

const REDACTED = "[redacted]";

/**
 * Keeps a secret that an agent says in two chunks from being sent in two halves (P11). The end of a
 * chunk that begins a known secret is held until the next chunk of the same text, for
 * `SECRET_HELD_MS`, or to the end of the turn; then it is sent as it is. Anything else that the
 * agent does sends it first, so that the order stays; an end of `SECRET_CHARS_MIN` characters and
 * more is redacted then, because the rest of the secret may follow. What was sent is remembered:
 * if the next chunk ends the secret, that part of it is redacted.
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
    if (piece?.stream !== this.#held?.piece.stream) this.interrupt();
    return piece === null ? this.#deps.send(update) : this.#join(update, piece);
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

const CHUNKS: ReadonlySet<string> = new Set(["agent_message_chunk", "agent_thought_chunk"]);

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
  const { sessionUpdate, content, messageId } = update;
  const text = chunkText(update);
  if (text === null || text === "" || !isObject(content)) return null;
  const parent = parentToolCallId(update);
  const ids = {
    ...(messageId !== undefined && { messageId }),
    ...(parent !== null && { _meta: { parentToolCallId: parent } }),
  };
  return {
    stream: JSON.stringify([sessionUpdate, messageId ?? null, parent]),
    text,
    isLast: false,
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
    isLast: exitIn(update) !== null || update.status != null,
    with: (changed) => withDelta(update, changed),
    bare: (rest) => outputUpdate(toolCallId, { terminalId, data: rest, exit: null }),
  };
}

/** Whether an update has nothing but its text, so that it need not be sent without. */
function isBare(update: AgentUpdate, piece: TextPiece): boolean {
  return sizeOf(update) === sizeOf(piece.bare(piece.text));
}

function sizeOf(update: AgentUpdate): number {
  return JSON.stringify(update).length;
}
