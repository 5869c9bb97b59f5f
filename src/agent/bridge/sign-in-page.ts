import { sentenceOf } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { fail, type Result } from "../../core/result.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { Served } from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { errorAnswer } from "./agent-requests.ts";
import type { AgentAbilities } from "./capability.ts";
import { readPage, type WebPage } from "./pages.ts";
import type { Arrival } from "./session.ts";
import { oneLine } from "./sign-in.ts";

/** What a client reads that may not open the page of a sign-in. */
export const PAGE_WITHHELD =
  "it wants a page opened, which is for the operator where users share the agent's home";

/** A call of ours in which the agent may want a page opened. */
export interface PageCaller {
  /** Whether the client may sign the agent in: others use its home too, unless it is its own. */
  readonly maySignIn: boolean;
  isCalling(callId: number): boolean;
  offer(page: WebPage): void;
  /** The agent wants one opened, and is refused that. */
  withhold(): void;
  /** Resolves with the first, if the agent wants one opened. */
  readonly page: Promise<WebPage>;
}

interface SignInContext {
  readonly profile: AgentProfile;
  readonly abilities: AgentAbilities;
  readonly faults: FaultLog;
  readonly redacted: (text: string) => string;
  /** The wait for a person has ended. */
  signInEnded(): void;
  closeLate(agentSessionId: string): void;
}

/**
 * The page at which a person has to sign in before an agent opens sessions. The client that wants
 * a session is answered with it and has to try again: it may not even have the id of a session
 * whose events could show the page. The agent goes on waiting meanwhile.
 */
export class SignInPage {
  readonly #context: SignInContext;
  /** The page that each call waits for: the last, where the agent has shown several. */
  readonly #pages = new Map<PageCaller, WebPage>();

  constructor(context: SignInContext) {
    this.#context = context;
  }

  /** Whether a page waits for a person. */
  get isOpen(): boolean {
    return this.#pages.size > 0;
  }

  /** The refusal of all sessions as long as a page waits for a person; else null. */
  refusalFor({ maySignIn }: Pick<PageCaller, "maySignIn">): Result<never> | null {
    const page = [...this.#pages.values()].at(-1);
    if (page === undefined) return null;
    return maySignIn ? this.#refused(page) : this.#refusedToOther();
  }

  /** The session, or the page that the agent wants opened first. */
  async before(caller: PageCaller, arrived: Promise<Result<Arrival>>): Promise<Result<Arrival>> {
    void arrived.then(() => {
      if (this.#pages.delete(caller)) this.#context.signInEnded();
    });
    const first = await Promise.race([arrived, caller.page]);
    if (!("url" in first)) return first;
    void arrived.then((late) => {
      if (late.ok) this.#context.closeLate(late.value.agentSessionId);
    });
    return this.#refused(this.#pages.get(caller) ?? first);
  }

  /**
   * Answers an elicitation about one of our own calls, and so about no session. A page goes to the
   * client that the call is made for, if it may sign the agent in. A form has no client that could
   * fill it in.
   */
  elicited(caller: PageCaller | undefined, params: JsonObject): Served {
    if (params.mode !== "url" || caller === undefined) {
      this.#context.faults.add("declined_elicitation", JSON.stringify(params));
      return { result: { action: "decline" } };
    }
    if (!caller.maySignIn) {
      caller.withhold();
      return { result: { action: "decline" } };
    }
    const page = this.#read(params);
    if (!page.ok) return errorAnswer(RPC_ERRORS.invalidParams, sentenceOf(page.refusal));
    this.#pages.set(caller, page.value);
    caller.offer(page.value);
    return { result: { action: "accept" } };
  }

  /** The client that gets the page may be another than the one whose secrets the agent has. */
  #read(params: JsonObject): Result<WebPage> {
    const { redacted } = this.#context;
    const message = redacted(oneLine(stringAt(params, "message") ?? ""));
    const page = readPage({ ...params, message });
    if (!page.ok) return page;
    const { url } = page.value;
    if ([url, decoded(url)].some((text) => redacted(text) !== text)) {
      return fail("elicitation_invalid", { reason: "its url has a secret of the agent in it" });
    }
    return page;
  }

  #refused({ message, url }: WebPage): Result<never> {
    const advice = `Open ${url} and then try again.`;
    return fail("agent_auth_required", { ...this.#about, said: message, advice, url });
  }

  /** The page and its code are for the one who may sign in. */
  #refusedToOther(): Result<never> {
    const said = "the operator is signing it in.";
    return fail("agent_auth_required", { ...this.#about, said, advice: "Try again later." });
  }

  get #about() {
    const { profile, abilities } = this.#context;
    const methods = abilities.authMethods.map(({ id }) => id).join(", ");
    return { profile: profile.name, methods };
  }
}

/** As it is, if it cannot be decoded. */
function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
