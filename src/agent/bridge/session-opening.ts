import type { ContentBlock } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import {
  AGENT_SEED_CHARS_MAX,
  AGENT_SEED_MESSAGES_MAX,
  AGENT_SIGN_IN_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentPast, ConnectRequest, PastMessage } from "../agent.ts";
import { type CallLimit, patientLimit } from "../call-limit.ts";
import { fitServers } from "./capability.ts";
import type { Claims } from "./claims.ts";
import type { AgentHost } from "./host.ts";
import type { WebPage } from "./pages.ts";
import { type AnswerObserver, request } from "./request.ts";
import type { Arrival, BridgeSession } from "./session.ts";
import { type SignInAttempt, signInRequired, usableMethods } from "./sign-in.ts";
import { PAGE_WITHHELD } from "./sign-in-page.ts";

/** Opens one session at its agent. */
export class SessionOpening {
  readonly #host: AgentHost;
  readonly #claims: Claims;
  readonly #session: BridgeSession;
  readonly #page = Promise.withResolvers<WebPage>();
  /** The id of its latest call to the agent. */
  #callId = 0;
  #isRestoring = false;
  /** The methods to sign in by that were not tried yet; null before it was needed. */
  #untried: readonly string[] | null = null;
  readonly #attempts: SignInAttempt[] = [];
  #signInEndsMs: number | null = null;
  /** The agent wanted a page opened that the client may not open. */
  #isPageWithheld = false;

  constructor(host: AgentHost, claims: Claims, session: BridgeSession) {
    this.#host = host;
    this.#claims = claims;
    this.#session = session;
  }

  /** Whether the agent is busy with restoring the session, which some agents die of. */
  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  /** Resolves with the first page that the agent wants opened before it goes on. */
  get page(): Promise<WebPage> {
    return this.#page.promise;
  }

  get maySignIn(): boolean {
    return this.#host.signInContext(this.#session.request).maySignIn;
  }

  withhold() {
    this.#isPageWithheld = true;
  }

  isCalling(callId: number): boolean {
    return this.#callId === callId;
  }

  /** A person needs longer than a call may take: so long in all, from the first page on. */
  offer(page: WebPage) {
    const nowMs = performance.now();
    this.#signInEndsMs ??= nowMs + AGENT_SIGN_IN_MS_MAX;
    this.#host.connection.limitAnew(this.#callId, Math.max(0, this.#signInEndsMs - nowMs));
    this.#page.resolve(page);
  }

  /**
   * Brings the session's past by the best way that the agent has: it resumes the session, or loads
   * it, or gets the past as text in front of the next prompt. If one way fails the next is tried,
   * so that a conversation goes on with any agent (P6).
   */
  async run(): Promise<Result<Arrival>> {
    const { abilities, profile } = this.#host;
    const id = this.#session.request.past?.agentSessionId ?? null;
    if (id !== null && abilities.resume && profile.resume === "auto") {
      const resumed = await this.#restore(AGENT_METHODS.resumeSession, id, "resumed");
      if (resumed !== null) return resumed;
    }
    if (id !== null && abilities.load && profile.resume !== "seed") {
      const loaded = await this.#restore(AGENT_METHODS.loadSession, id, "loaded");
      if (loaded !== null) return loaded;
    }
    return this.#begin();
  }

  /** Null if it failed and another way may be tried; an agent whose process ended is the end. */
  async #restore(
    method: string,
    agentSessionId: string,
    context: "resumed" | "loaded",
  ): Promise<Result<Arrival> | null> {
    const session = this.#session;
    // Two sessions of the server cannot share one session of the agent.
    if (session.isOver || !this.#claims.mayRestore(agentSessionId, session.request)) return null;
    if (!this.#claims.claim(agentSessionId, session)) return null;
    session.restoring(context === "loaded");
    this.#isRestoring = true;
    const { skipped, ...params } = this.#params();
    const all = { ...params, sessionId: agentSessionId };
    const restored = await this.#call(method, all, this.#host.profile.limits.restoreMs, {
      settled: (answer) => void this.#opened(agentSessionId, answer),
      late: () => this.#host.closeLate(agentSessionId),
    });
    if (restored.ok) return ok({ agentSessionId, context, skipped, preface: [] });
    this.#isRestoring = false;
    this.#claims.release(session);
    session.notRestored();
    if (restored.refusal.code === "agent_call_timeout") this.#host.retire();
    // Some agents say with the code of a sign-in that they do not know the session. Whether a
    // sign-in is needed shows when a new one is made.
    return restored.refusal.code === "agent_gone" ? restored : null;
  }

  async #begin(): Promise<Result<Arrival>> {
    const { past, systemPrompt } = this.#session.request;
    const { abilities, profile, process } = this.#host;
    // Read the past first: if that fails, the agent has made nothing that must be closed.
    const seed = past === null ? ok(null) : await seeded(past);
    if (!seed.ok) return seed;
    if (this.#session.isOver) return fail("agent_gone", { exit: "nobody waits for the session" });
    const { skipped, ...params } = this.#params();
    const method = AGENT_METHODS.newSession;
    const limit = patientLimit(profile.limits.callMs, profile.limits.startMs, process);
    let fault: string | null = "it gave no id";
    const made = await this.#call(method, params, limit, {
      settled: (answer) => {
        const id = stringAt(answer, "sessionId");
        if (id === null) return;
        fault = this.#opened(id, answer) ? null : "it gave the id of another session";
      },
      late: (answer) => {
        const id = stringAt(answer, "sessionId");
        if (id !== null) this.#host.closeLate(id);
      },
    });
    // A process that has not found its log-in may not look for it again.
    const isUseless = ["agent_call_timeout", "agent_auth_required"];
    if (!made.ok && isUseless.includes(made.refusal.code)) this.#host.retire();
    if (!made.ok) return made;
    const agentSessionId = stringAt(made.value, "sessionId");
    if (agentSessionId === null || fault !== null) {
      return fail("agent_call_failed", { method, reason: fault ?? "" });
    }
    const instructions = abilities.systemPrompt ? null : instructionsOf(systemPrompt);
    const preface = [instructions, seed.value].filter((block) => block !== null);
    const context = past === null ? "new" : "seeded";
    return ok({ agentSessionId, context, skipped, preface });
  }

  /** The agent has the session under this id. False if the id belongs to another session. */
  #opened(id: string, answer: JsonObject): boolean {
    const session = this.#session;
    const isNew = !this.#isRestoring;
    this.#isRestoring = false;
    if (session.isOver) return true;
    if (isNew && this.#claims.isForgotten(id)) {
      // The agent may still have the other conversation under this id (P8).
      this.#host.retire();
      return false;
    }
    if (!this.#claims.claim(id, session)) return false;
    if (isNew) this.#claims.created(id, session.request);
    const early = this.#claims.takeEarly(id);
    for (const { update, chars } of early) void session.receive(update, chars);
    session.begun(answer);
    return true;
  }

  /** The parameters that all three methods share, and what the agent cannot take. */
  #params() {
    const { abilities } = this.#host;
    const { cwd, systemPrompt, mcpServers: wanted, toolbox = null } = this.#session.request;
    const fitting = fitServers(wanted, abilities.capabilities);
    const { skipped } = fitting;
    const mcpServers = [...fitting.mcpServers, ...(toolbox === null ? [] : [toolbox])];
    const content = [{ type: "text", text: systemPrompt }];
    const isTaken = systemPrompt !== null && abilities.systemPrompt;
    const instructions = isTaken ? { systemPrompt: { mode: "append", content } } : {};
    const { roots } = this.#host;
    const isUsed = roots.length > 0 && abilities.additionalDirectories;
    const places = isUsed ? { additionalDirectories: roots } : {};
    return { cwd, mcpServers, ...places, ...instructions, skipped };
  }

  /**
   * Signs in where the agent requires it, by each method that has its key, and calls again. Each
   * is tried once, even if the session is opened in several ways.
   */
  async #call(
    method: string,
    params: JsonObject,
    limit: CallLimit,
    observer: AnswerObserver,
  ): Promise<Result<JsonObject>> {
    const { callee } = this.#session;
    const sent = (callId: number) => {
      this.#callId = callId;
    };
    const observed = { ...observer, sent };
    let answer = await request(callee, method, params, limit, observed);
    if (!wantsSignIn(answer)) return answer;
    const context = this.#host.signInContext(this.#session.request);
    const attempts = this.#attempts;
    for (;;) {
      const [methodId, ...others] = this.#untried ?? usableMethods(context);
      this.#untried = others;
      if (methodId === undefined) break;
      const signIn = AGENT_METHODS.authenticate;
      const signedIn = await request(callee, signIn, { methodId }, limit, { sent });
      if (!signedIn.ok) {
        if (signedIn.refusal.code === "agent_gone") return signedIn;
        const failure = this.#isPageWithheld ? PAGE_WITHHELD : failureText(signedIn.refusal);
        attempts.push({ method: methodId, failure });
        this.#isPageWithheld = false;
        // An agent that is at work on one sign-in would not take the next.
        if (signedIn.refusal.code === "agent_call_timeout") this.#untried = [];
        continue;
      }
      attempts.push({ method: methodId, failure: null });
      answer = await request(callee, method, params, limit, observed);
      if (!wantsSignIn(answer)) return answer;
    }
    const said = answer.ok ? "" : failureText(answer.refusal);
    return { ok: false, refusal: signInRequired(context, said, attempts) };
  }
}

function wantsSignIn(answer: Result<JsonObject>): boolean {
  return !answer.ok && answer.refusal.details.rpcCode === RPC_ERRORS.authRequired;
}

function failureText(refusal: Refusal): string {
  const { reason } = refusal.details;
  return typeof reason === "string" ? reason : sentenceOf(refusal);
}

/** Whether this method restores a session. */
export function isRestoreMethod(method: unknown): boolean {
  return method === AGENT_METHODS.resumeSession || method === AGENT_METHODS.loadSession;
}

async function seeded(past: AgentPast): Promise<Result<ContentBlock | null>> {
  try {
    return ok(await seedOf(past.messages()));
  } catch (thrown) {
    return fail("store_unavailable", { reason: `the conversation cannot be read, ${thrown}` });
  }
}

/** The system prompt as one marked block, for an agent that takes none. */
function instructionsOf(systemPrompt: ConnectRequest["systemPrompt"]): ContentBlock | null {
  if (systemPrompt === null) return null;
  return { type: "text", text: `<instructions>\n${systemPrompt}\n</instructions>` };
}

/**
 * The conversation so far as one text block, for an agent that cannot restore it. The newest
 * messages come first, and those that do not fit are left out whole; only the newest of all is
 * cut, so that there is always something to go on from.
 */
export async function seedOf(
  newestFirst: AsyncIterable<PastMessage>,
): Promise<ContentBlock | null> {
  const taken: string[] = [];
  let chars = 0;
  let isWhole = true;
  for await (const { role, text } of newestFirst) {
    const charsLeft = AGENT_SEED_CHARS_MAX - chars;
    const isFull = taken.length >= AGENT_SEED_MESSAGES_MAX || text.length > charsLeft;
    if (isFull && taken.length > 0) {
      isWhole = false;
      break;
    }
    const fitting = text.length > charsLeft ? `${cutText(text, charsLeft)} […]` : text;
    chars += text.length;
    taken.unshift(`${role === "user" ? "User" : "You"}: ${fitting}`);
  }
  if (taken.length === 0) return null;
  const missing = isWhole ? [] : ["[Earlier messages were left out.]"];
  return { type: "text", text: [OPENING, ...missing, ...taken, CLOSING].join("\n\n") };
}

const OPENING =
  "<conversation_so_far>\nThis session was restored. This was said before; do not answer it.";
const CLOSING = "</conversation_so_far>";
