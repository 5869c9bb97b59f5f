import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { RPC_ERRORS, type RpcId } from "../../../wire/rpc.ts";
import { type EchoAnswer, type EchoReply, refusal } from "./client-link.ts";
import { type Flags, HINT } from "./flags.ts";
import { type Arguments, type Directive, readScript } from "./language.ts";
import { ECHO_CHUNKS_MAX, STEERED_PROMPTS_MAX } from "./limits.ts";
import { perform } from "./perform.ts";
import type { EchoSession, EchoSessions } from "./session.ts";
import { noSession } from "./session-methods.ts";
import { type EchoDeps, Turn, type TurnEnding } from "./turn.ts";

/** Serves `session/prompt`, and what cancels it. */
export class Prompts {
  readonly #deps: EchoDeps;
  readonly #sessions: EchoSessions;
  readonly #queues = new WeakMap<EchoSession, PromptQueue>();

  constructor(deps: EchoDeps, sessions: EchoSessions) {
    this.#deps = deps;
    this.#sessions = sessions;
  }

  readonly prompt = (params: JsonObject, requestId: RpcId): EchoAnswer | Promise<EchoAnswer> => {
    const id = stringAt(params, "sessionId") ?? "";
    const session = this.#sessions.find(id);
    if (session === null) return noSession(id);
    const prompt = readPrompt(params.prompt, this.#deps.flags);
    if (typeof prompt === "string") return refusal("invalidParams", prompt);
    const begin = () => this.#begin(requestId, session, prompt);
    if (this.#deps.flags.has("--queue")) return this.#queueOf(session).add(begin);
    return session.turn === null ? begin() : this.#steer(session.turn, prompt);
  };

  #queueOf(session: EchoSession): PromptQueue {
    const queue = this.#queues.get(session) ?? new PromptQueue();
    this.#queues.set(session, queue);
    return queue;
  }

  async #begin(requestId: RpcId, session: EchoSession, prompt: EchoPrompt): Promise<EchoAnswer> {
    const turn = new Turn(requestId, session, this.#deps, prompt.context);
    turn.add(directivesOf(prompt, session.past.length === 0));
    session.turn = turn;
    const reply = await runTurn(turn, prompt.words);
    session.turn = null;
    turn.end(reply);
    return { ...reply, times: turn.answers };
  }

  /** Two prompts become one turn, and so they end alike. */
  #steer(turn: Turn, prompt: EchoPrompt): EchoAnswer | Promise<EchoAnswer> {
    if (!this.#deps.flags.has("--steer")) {
      return refusal("invalidRequest", "this session is at work on another prompt");
    }
    const isTaken = turn.steer(directivesOf(prompt, false));
    return isTaken ? turn.ended : refusal("invalidRequest", "too many prompts for one turn");
  }

  cancel(sessionId: string) {
    const session = this.#sessions.find(sessionId);
    if (session === null || session.turn?.ignoresCancel) return;
    session.turn?.cancel();
    this.#queues.get(session)?.clear();
  }

  /** Cancels the prompt whose answer the client does not want any more. */
  cancelRequest(requestId: unknown) {
    for (const { id, turn } of this.#sessions.open()) {
      if (turn?.requestId === requestId) this.cancel(id);
    }
  }
}

/** The prompts of one session, run one after the other, as some agents do it. */
class PromptQueue {
  readonly #waiting = new Set<{ isCancelled: boolean }>();
  #last: Promise<unknown> = Promise.resolve();

  add(begin: () => Promise<EchoAnswer>): EchoAnswer | Promise<EchoAnswer> {
    if (this.#waiting.size > STEERED_PROMPTS_MAX) {
      return refusal("invalidRequest", "too many prompts are waiting");
    }
    const mine = { isCancelled: false };
    this.#waiting.add(mine);
    const answer = this.#last.then(() => {
      this.#waiting.delete(mine);
      return mine.isCancelled ? { result: { stopReason: "cancelled" } } : begin();
    });
    // The next prompt begins after this answer is sent.
    const afterSending = () => new Promise(setImmediate);
    this.#last = answer.then(afterSending, afterSending);
    return answer;
  }

  clear() {
    for (const prompt of this.#waiting) prompt.isCancelled = true;
  }
}

interface EchoPrompt {
  /** The last text: what the user typed. Only this can be a script. */
  readonly words: string;
  /** Text that came before it: a seed, the output of a shell, a file. */
  readonly context: readonly string[];
  /** All of it as text, with a mark for what is none. */
  readonly whole: string;
}

/** The prompt, or a sentence that says what is wrong with it. */
function readPrompt(value: unknown, flags: Flags): EchoPrompt | string {
  if (!Array.isArray(value)) return "prompt must be a list of content blocks";
  const texts: string[] = [];
  const all: string[] = [];
  for (const block of value) {
    const kind = isObject(block) ? stringAt(block, "type") : null;
    const text = isObject(block) ? blockText(kind, block) : null;
    if (text === null) return "prompt has a block that is no content block";
    if (kind === "image" && flags.has("--no-images")) return "echo was told to take no images";
    if (kind === "resource" && flags.has("--no-embedded")) {
      return "echo was told to take no embedded resources";
    }
    if (kind === "audio") return "echo takes no audio";
    if (kind === "text") texts.push(text);
    all.push(text);
  }
  return { words: texts.at(-1) ?? "", context: texts.slice(0, -1), whole: all.join("\n") };
}

function blockText(kind: string | null, block: JsonObject): string | null {
  switch (kind) {
    case "text":
      return stringAt(block, "text");
    case "image":
    case "audio":
      return `[${kind} ${stringAt(block, "mimeType") ?? "of no type"}]`;
    case "resource_link":
      return `[link ${stringAt(block, "uri") ?? "to nowhere"}]`;
    case "resource": {
      const resource = objectAt(block, "resource") ?? {};
      return `[resource ${stringAt(resource, "uri") ?? "without a name"}]`;
    }
    default:
      return null;
  }
}

/** What a prompt makes echo do: its script, or to say the prompt back. */
function directivesOf({ words, whole }: EchoPrompt, isFirst: boolean): readonly Directive[] {
  const script = readScript(words);
  const says = (text: string): Directive<"say"> => ({ verb: "say", args: { text } });
  switch (script.kind) {
    case "directives":
      return script.directives;
    case "fault":
      return [says(script.sentence)];
    case "plain":
      return [...pieces(whole), ...(isFirst ? [HINT] : [])].map(says);
  }
}

/** A few pieces of the same length, with no character cut in two. */
function pieces(text: string): readonly string[] {
  const characters = [...text];
  const length = Math.max(1, Math.ceil(characters.length / ECHO_CHUNKS_MAX));
  const count = Math.ceil(characters.length / length);
  return Array.from({ length: count }, (_, index) => {
    return characters.slice(index * length, (index + 1) * length).join("");
  });
}

/** Runs the turn's directives and makes the prompt's answer of how that ended. */
async function runTurn(turn: Turn, words: string): Promise<EchoReply> {
  const ending = await performAll(turn);
  if (turn.isCancelled) {
    for (const toolCallId of turn.openCalls) {
      await turn.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
    }
    turn.session.recordTurn(words, turn.said);
    return answerOf(turn, "cancelled");
  }
  if (ending.kind === "error") return { error: ending.error };
  // By ACP a refused prompt, and what came after it, is not part of the conversation.
  if (ending.stopReason !== "refusal") turn.session.recordTurn(words, turn.said);
  return answerOf(turn, ending.stopReason);
}

async function performAll(turn: Turn): Promise<TurnEnding> {
  try {
    for (let next = turn.next(); next !== undefined; next = turn.next()) {
      const ending = await perform(turn, next);
      if (ending) return ending;
      if (turn.isCancelled) break;
    }
    return { kind: "stop", stopReason: "end_turn" };
  } catch (thrown) {
    return { kind: "error", error: { code: RPC_ERRORS.internal, message: String(thrown) } };
  }
}

function answerOf({ usage }: Turn, stopReason: string): EchoReply {
  return { result: usage === null ? { stopReason } : { stopReason, usage: totals(usage) } };
}

function totals({ input, output, cached, thought }: Arguments["usage"]): JsonObject {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedReadTokens: cached,
    thoughtTokens: thought,
    totalTokens: input + output + cached + thought,
  };
}
