import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { ELICITATION_TEXT_CHARS_MAX, ELICITATION_URL_CHARS_MAX } from "../../core/limits.ts";
import type { AskOption } from "../../core/policy/ask.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { COMPLETED } from "../../core/session/reason.ts";
import { cutText } from "../../core/text.ts";
import type { AgentAsk, AskAnswer } from "../agent.ts";
import { ACCEPT } from "./elicitation.ts";

/** A page that an agent wants a person to open, as to sign in. */
export interface WebPage {
  /** The agent's id, by which it says that the page is done with. */
  readonly elicitationId: string;
  readonly message: string;
  /** As a browser would open it. */
  readonly url: string;
  readonly host: string;
}

/**
 * Reads a request to open a page. People open what they are shown here, so it has to be a page of
 * the web, and its address must show where it leads: a name before the host would hide that.
 */
export function readPage(params: JsonObject): Result<WebPage> {
  const refused = (reason: string) => fail("elicitation_invalid", { reason });
  const elicitationId = stringAt(params, "elicitationId") ?? "";
  const text = stringAt(params, "url") ?? "";
  if (elicitationId === "") return refused("it has no elicitationId");
  const isLong = Math.max(text.length, elicitationId.length) > ELICITATION_URL_CHARS_MAX;
  if (isLong) return refused(`its url has more than ${ELICITATION_URL_CHARS_MAX} characters`);
  const url = URL.parse(text);
  if (url === null) return refused("its url is none");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return refused("its url begins neither with https:// nor with http://");
  }
  if (url.username !== "" || url.password !== "") return refused("its url has a user name in it");
  const words = stringAt(params, "message") || `Open a page of ${url.host}`;
  const message = cutText(words, ELICITATION_TEXT_CHARS_MAX);
  return ok({ elicitationId, message, url: url.href, host: url.host });
}

/** As a question without fields: a person opens the page and says so, or declines. */
export function pageAsk({ message, url, host }: WebPage, toolCallId: string): AgentAsk {
  const text = `${message}\n${url}`;
  const questions = [{ answerKey: "url", header: host, question: text, url }];
  const content = [{ type: "content", content: { type: "text", text } }];
  const rawInput = { questions, url };
  const toolCall = { toolCallId, title: message, kind: "other", content, rawInput };
  return { kind: "user_question", toolCall, known: {}, options: PAGE_OPTIONS };
}

const PAGE_OPTIONS: readonly AskOption[] = [
  { optionId: ACCEPT, name: "I have opened it", kind: "allow_once" },
  { optionId: "decline", name: "Decline", kind: "reject_once" },
];

/**
 * To accept means that a person was shown the page. That stays true if the turn ends first: the
 * page is in the session's log, and the agent goes on waiting for what happens there.
 */
function pageAnswer({ outcome, ended }: AskAnswer): JsonObject {
  if (outcome.outcome === "selected") {
    return { action: outcome.optionId === ACCEPT ? "accept" : "decline" };
  }
  return { action: ended === COMPLETED || ended === "turn_ended" ? "accept" : "cancel" };
}

/** The pages of one agent process that no person has answered yet, by the agent's ids. */
export class OpenPages {
  readonly #open = new Map<string, AbortController>();

  /** Shows a page until it is answered, withdrawn by the signal, or done with. */
  async show(
    page: WebPage,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<AskAnswer>,
  ): Promise<Result<JsonObject>> {
    const { elicitationId } = page;
    if (this.#open.has(elicitationId)) {
      return fail("elicitation_invalid", { reason: "one with its elicitationId is open" });
    }
    const done = new AbortController();
    this.#open.set(elicitationId, done);
    const answer = await ask(AbortSignal.any([signal, done.signal]));
    this.#open.delete(elicitationId);
    return ok(done.signal.aborted ? { action: "accept" } : pageAnswer(answer));
  }

  /** The agent says that a page is done with. Later than its answer that is no news. */
  complete(params: JsonObject) {
    this.#open.get(stringAt(params, "elicitationId") ?? "")?.abort(COMPLETED);
  }
}

/** A page in ACP's words for what people should know and no agent waits for. */
function pageNotice({ message, url }: WebPage): AgentUpdate {
  return { sessionUpdate: "notice", severity: "info", title: message, description: url };
}

/** The session that a page is shown in. */
interface PageSession {
  readonly isRestoring: boolean;
  readonly turns: { readonly isRunning: boolean };
  readonly pages: OpenPages;
  nextQuestion(): string;
  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer>;
  notify(update: AgentUpdate): void;
}

/**
 * Shows a page as an ask. Between turns there is none: clients are notified of it, and that is
 * all which an agent can be told that it wants a page opened.
 */
export async function showPage(
  session: PageSession,
  page: WebPage,
  signal: AbortSignal,
): Promise<Result<JsonObject>> {
  if (session.isRestoring) return ok({ action: "cancel" });
  if (session.turns.isRunning) {
    const ask = pageAsk(page, session.nextQuestion());
    return session.pages.show(page, signal, (either) => session.ask(ask, either));
  }
  session.notify(pageNotice(page));
  return ok({ action: "accept" });
}

/** The server's own call that an elicitation is about, where it is about no session. */
export function callOf({ sessionId, requestId }: JsonObject): number | null {
  return sessionId === undefined && typeof requestId === "number" ? requestId : null;
}
