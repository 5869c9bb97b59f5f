import { type JsonObject, stringAt } from "../../../core/json.ts";
import type { RpcId } from "../../../wire/rpc.ts";
import { type Answer, refusal } from "./answer.ts";
import { conduct, directivesOf } from "./conduct.ts";
import { type Prompt, readPrompt } from "./prompt.ts";
import { PromptLine } from "./prompt-line.ts";
import type { Session } from "./session.ts";
import type { SessionBook } from "./session-book.ts";
import { noSession } from "./session-desk.ts";
import { type Stage, Turn } from "./turn.ts";

/** Prompts and what stops them. */
export class PromptDesk {
  readonly #stage: Stage;
  readonly #book: SessionBook;
  readonly #lines = new WeakMap<Session, PromptLine>();

  constructor(stage: Stage, book: SessionBook) {
    this.#stage = stage;
    this.#book = book;
  }

  readonly prompt = (params: JsonObject, requestId: RpcId): Answer | Promise<Answer> => {
    const id = stringAt(params, "sessionId") ?? "";
    const session = this.#book.find(id);
    if (session === null) return noSession(id);
    const prompt = readPrompt(params.prompt, this.#stage.flags);
    if (typeof prompt === "string") return refusal("invalidParams", prompt);
    if (this.#stage.flags.has("--queue")) return this.#lineUp(requestId, session, prompt);
    return session.turn === null
      ? this.#begin(requestId, session, prompt)
      : this.#steer(session.turn, prompt);
  };

  #lineUp(requestId: RpcId, session: Session, prompt: Prompt): Answer | Promise<Answer> {
    const line = this.#lines.get(session) ?? new PromptLine();
    this.#lines.set(session, line);
    return line.add(() => this.#begin(requestId, session, prompt));
  }

  async #begin(requestId: RpcId, session: Session, prompt: Prompt): Promise<Answer> {
    const turn = new Turn(requestId, session, this.#stage, prompt.context);
    turn.add(directivesOf(prompt, session.past.length === 0));
    session.turn = turn;
    const reply = await conduct(turn, prompt.words);
    session.turn = null;
    turn.end(reply);
    return { ...reply, times: turn.answers };
  }

  /** Two prompts become one turn, and so they end alike. */
  #steer(turn: Turn, prompt: Prompt): Answer | Promise<Answer> {
    if (!this.#stage.flags.has("--steer")) {
      return refusal("invalidRequest", "this session is at work on another prompt");
    }
    const isTaken = turn.steer(directivesOf(prompt, false));
    return isTaken ? turn.ended : refusal("invalidRequest", "too many prompts for one turn");
  }

  cancel(sessionId: string) {
    const session = this.#book.find(sessionId);
    if (session === null || session.turn?.ignoresCancel) return;
    session.turn?.cancel();
    this.#lines.get(session)?.clear();
  }

  /** A prompt whose sender does not want its answer any more. */
  cancelRequest(requestId: unknown) {
    for (const { id, turn } of this.#book.living()) {
      if (turn?.requestId === requestId) this.cancel(id);
    }
  }
}
