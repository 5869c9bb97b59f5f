import { sentenceOf } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { fail, type Result } from "../../core/result.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { Served } from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { errorAnswer } from "./agent-requests.ts";
import type { AgentAbilities } from "./capability.ts";
import { readPage, type WebPage } from "./pages.ts";
import type { Arrival } from "./session.ts";

/** A call of ours in which the agent may want a page opened. */
export interface PageCaller {
  isCalling(callId: number): boolean;
  offer(page: WebPage): void;
  /** Resolves if the agent wants one opened. */
  readonly page: Promise<WebPage>;
}

interface SignInContext {
  readonly profile: AgentProfile;
  readonly abilities: AgentAbilities;
  readonly faults: FaultLog;
  closeLate(agentSessionId: string): void;
}

/**
 * The page at which a person has to sign in before an agent opens sessions. The client that wants
 * a session is answered with it and has to try again: it may not even have the id of a session
 * whose events could show the page. The agent goes on waiting meanwhile.
 */
export class SignInPage {
  readonly #context: SignInContext;
  #page: WebPage | null = null;

  constructor(context: SignInContext) {
    this.#context = context;
  }

  /** The refusal of all sessions as long as a page waits for a person; else null. */
  get refusal(): Result<never> | null {
    return this.#page === null ? null : this.#refused(this.#page);
  }

  /** The session, or the page that the agent wants opened first. */
  async before(caller: PageCaller, arrived: Promise<Result<Arrival>>): Promise<Result<Arrival>> {
    const first = await Promise.race([arrived, caller.page]);
    if (!("url" in first)) return first;
    this.#page = first;
    void arrived.then((late) => {
      this.#page = null;
      if (late.ok) this.#context.closeLate(late.value.agentSessionId);
    });
    return this.#refused(first);
  }

  /**
   * Answers an elicitation about one of our own calls, and so about no session. A page goes to the
   * client that the call is made for. A form has no client that could fill it in.
   */
  elicited(caller: PageCaller | undefined, params: JsonObject): Served {
    if (params.mode !== "url" || caller === undefined) {
      this.#context.faults.add("declined_elicitation", JSON.stringify(params));
      return { result: { action: "decline" } };
    }
    const page = readPage(params);
    if (!page.ok) return errorAnswer(RPC_ERRORS.invalidParams, sentenceOf(page.refusal));
    caller.offer(page.value);
    return { result: { action: "accept" } };
  }

  #refused({ message, url }: WebPage): Result<never> {
    const { profile, abilities } = this.#context;
    const reason = `${message} Open ${url} and then try again`;
    const methods = abilities.authMethods.join(", ");
    return fail("agent_auth_required", { profile: profile.name, reason, methods, url });
  }
}
