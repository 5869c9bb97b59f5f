import type { AgentUpdate } from "../../core/agent-update.ts";
import type { Refusal } from "../../core/error.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import {
  AGENT_FILE_CALLS_MAX,
  AGENT_LAST_WORDS_MS_MAX,
  AGENT_SESSIONS_FORGOTTEN_MAX,
  AGENT_STRAY_TURN_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { AGENT_METHODS, CLIENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type {
  AgentGone,
  AgentListener,
  AgentOffer,
  AgentSession,
  ConnectRequest,
} from "../agent.ts";
import type {
  AgentConnection,
  AgentMessageHandler,
  RequestContext,
  Serving,
} from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import { type AgentProcess, within } from "../process/process.ts";
import type { AgentProfile } from "../profile/profile.ts";
import type { WorkspaceFiles } from "../workspace/files.ts";
import type { TerminalsOptions } from "../workspace/terminals.ts";
import { answered, errorAnswer, isServed, notFound, readRequest } from "./agent-requests.ts";
import { type AgentAbilities, isWithheld, SharedOffers } from "./capability.ts";
import { Claims } from "./claims.ts";
import { callOf, OpenPages } from "./pages.ts";
import { describeGone, request } from "./request.ts";
import { type Arrival, BridgeSession } from "./session.ts";
import { SessionOpening } from "./session-opening.ts";
import type { SignInNeed } from "./sign-in.ts";
import { SignInPage } from "./sign-in-page.ts";

/** Tells the pool about a process, before its sessions know. */
export interface PoolObserver {
  /** A session has left, or the process takes no further ones: it may be unused now. */
  changed(): void;
  /** The process has ended. A failure is an end that was not requested and not due to a restore. */
  gone(gone: AgentGone, isFailure: boolean): void;
}

/** The options that the terminals of all its sessions share. */
type HostTerminals = Omit<TerminalsOptions, "workspace" | "cwd" | "audit" | "observer"> &
  Pick<Required<TerminalsOptions>, "own">;

interface StartedAgent {
  readonly profile: AgentProfile;
  readonly process: AgentProcess;
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly terminals: HostTerminals;
  readonly files: WorkspaceFiles;
  readonly faults: FaultLog;
  readonly roots: readonly string[];
  /** Its home is one of `--agent-homes`. */
  readonly hasOwnHome: boolean;
}

/** One initialized agent process, and the sessions that it serves. */
export class AgentHost {
  readonly profile: AgentProfile;
  readonly process: AgentProcess;
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly terminals: HostTerminals;
  readonly faults: FaultLog;
  /** Uses files with the rights of the agent's user. */
  readonly files: WorkspaceFiles;
  /** Real paths of folders that are open to agents beside their workspaces. */
  readonly roots: readonly string[];
  /** Whether it has the server write its files: known of its profile, or seen. */
  writesByServer: boolean;
  /** The pages that people are asked to open. */
  readonly pages = new OpenPages();
  /** Bounds the file requests of all its sessions. */
  readonly fileCalls = new Semaphore(AGENT_FILE_CALLS_MAX);
  readonly offers = new SharedOffers();
  readonly redacted: (text: string) => string;
  readonly #hasOwnHome: boolean;
  /** Resolves when the process has ended and all listeners know. Never rejects. */
  readonly gone: Promise<void>;
  readonly #sessions = new Set<BridgeSession>();
  readonly #claims = new Claims();
  readonly #exit = Promise.withResolvers<AgentExit>();
  /** From how many bytes on the error output can be about this session only. */
  readonly #soleSince = new WeakMap<BridgeSession, number>();
  readonly #openings = new Set<SessionOpening>();
  readonly #signIn = new SignInPage(this);
  #observer: PoolObserver | null = null;
  #hasServed = false;
  /** The server has requested its end. */
  #isEnding = false;
  #isAlive = true;
  #isRetired = false;
  #end: { readonly gone: AgentGone; readonly isFailure: boolean } | null = null;

  constructor(started: StartedAgent) {
    this.profile = started.profile;
    this.process = started.process;
    this.connection = started.connection;
    this.abilities = started.abilities;
    this.terminals = started.terminals;
    this.files = started.files;
    this.roots = started.roots;
    this.writesByServer = started.profile.writes === "server";
    this.faults = started.faults;
    this.#hasOwnHome = started.hasOwnHome;
    this.redacted = started.process.redactor.redacted;
    this.gone = this.#watch();
  }

  /** Sessions that are being opened count too. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Whether a person is to sign in at a page, which the process waits for. */
  get awaitsSignIn(): boolean {
    return this.isOpen && this.#signIn.isOpen;
  }

  signInEnded() {
    this.#observer?.changed();
  }

  /** Whether it takes further sessions. */
  get isOpen(): boolean {
    return this.#isAlive && !this.#isRetired;
  }

  /** If the process has ended already, the observer knows at once. */
  observe(observer: PoolObserver) {
    this.#observer = observer;
    if (this.#end !== null) observer.gone(this.#end.gone, this.#end.isFailure);
  }

  /** Counts the session synchronously. `skipped` is what earlier attempts left out. */
  async connect(
    request: ConnectRequest,
    listener: AgentListener,
    signal: AbortSignal,
    skipped: AgentOffer["skipped"] = [],
  ): Promise<Result<AgentSession>> {
    if (!this.isOpen) {
      return fail("agent_gone", { exit: this.#isAlive ? "it is full" : await this.exit(null) });
    }
    const signInFirst = this.#signIn.refusalFor(this.signInContext(request));
    if (signInFirst !== null) return signInFirst;
    const session = new BridgeSession(this, request, listener);
    this.#join(session);
    const aborted = Promise.withResolvers<Result<AgentSession>>();
    const abort = () => {
      void session.finish();
      aborted.resolve(fail("agent_connect_aborted"));
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const connected = await Promise.race([this.#open(session, skipped), aborted.promise]);
    signal.removeEventListener("abort", abort);
    return connected;
  }

  /** Error output from before the first session belongs to that one. */
  #join(session: BridgeSession) {
    for (const other of this.#sessions) this.#soleSince.delete(other);
    this.#sessions.add(session);
    this.turnBegins(session);
    if (!this.#hasServed) this.#soleSince.set(session, 0);
    this.#hasServed = true;
  }

  /** Error output from now on is about this turn, if the process has no other session. */
  turnBegins(session: BridgeSession) {
    if (this.#sessions.size > 1) this.#soleSince.delete(session);
    else this.#soleSince.set(session, this.process.errorOutput.totalBytes);
  }

  /** The error output that can be about this session only. */
  #errorTextFor(session: BridgeSession | null): string {
    const since = session === null ? undefined : this.#soleSince.get(session);
    return since === undefined ? "" : this.process.errorOutput.excerpt(since);
  }

  async #open(
    session: BridgeSession,
    skipped: AgentOffer["skipped"],
  ): Promise<Result<AgentSession>> {
    const arrived = await this.#arrived(session);
    if (!arrived.ok) {
      await session.finish();
      return arrived;
    }
    const arrival = { ...arrived.value, skipped: [...skipped, ...arrived.value.skipped] };
    if (!session.isOver) session.arrive(arrival);
    else if (this.#isAlive) void this.closeSession(arrival.agentSessionId);
    // The process has ended meanwhile, the signal has fired, or the listener has failed.
    if (!session.isOver) return ok(session);
    const exit = this.#isAlive ? "its session was given up" : await this.exit(session);
    return fail("agent_gone", { exit });
  }

  async #arrived(session: BridgeSession): Promise<Result<Arrival>> {
    const opening = new SessionOpening(this, this.#claims, session);
    this.#openings.add(opening);
    const arrived = opening.run().finally(() => {
      this.#openings.delete(opening);
      if (this.#openings.size === 0) this.#claims.forgetEarly();
    });
    return this.#signIn.before(opening, arrived);
  }

  /** Closes what the agent opened too late, unless another session has the id now. */
  closeLate(agentSessionId: string) {
    if (this.#isAlive && this.#claims.get(agentSessionId) === undefined) {
      void this.closeSession(agentSessionId);
    }
  }

  /** How the process ended, with its error output where that can be about this session only. */
  async exit(session: BridgeSession | null): Promise<string> {
    const exit = await this.#exit.promise;
    return describeGone({ ...exit, message: this.#errorTextFor(session) });
  }

  /** The session is over; the agent's messages about it are not passed on any more. */
  release(session: BridgeSession) {
    this.#claims.release(session);
    if (this.#sessions.delete(session)) this.#observer?.changed();
  }

  /**
   * Has the agent close a session; if it cannot, later messages about it are ignored. Answers why
   * an agent that lives and can close sessions did not close this one.
   */
  async closeSession(agentSessionId: string, isRunning = () => false): Promise<Refusal | null> {
    if (!this.abilities.close) {
      this.#keepUnclosed(agentSessionId, isRunning());
      return null;
    }
    const closed = await this.call(AGENT_METHODS.closeSession, { sessionId: agentSessionId });
    if (closed.ok) return null;
    this.retire();
    return closed.refusal.code === "agent_gone" ? null : closed.refusal;
  }

  /** A call that belongs to no session which is open here. */
  call(method: string, params: JsonObject): Promise<Result<JsonObject>> {
    const { connection, redacted } = this;
    const callee = { connection, redacted, exit: () => this.exit(null) };
    return request(callee, method, params, this.profile.limits.callMs);
  }

  /**
   * For an agent that cannot close sessions. A few may stay open, which costs less than another
   * process. If the session had the process to itself, or goes on in it, no other may use it.
   */
  #keepUnclosed(agentSessionId: string, isRunning: boolean) {
    const isAlone = this.profile.limits.sessionsPerProcess === 1;
    if (isAlone || isRunning) return this.retire();
    this.#claims.forget(agentSessionId);
    if (this.#claims.forgottenCount >= AGENT_SESSIONS_FORGOTTEN_MAX) this.retire();
  }

  /** What is known when the agent asks for a sign-in in a session of this user. */
  signInContext({ tenantId, userId }: Pick<ConnectRequest, "tenantId" | "userId">): SignInNeed {
    const { profile, abilities, process, redacted } = this;
    const user = userId === null ? "" : ` --user ${userId}`;
    // Clients are not told where the server has its folders.
    const home = ` --agent-homes DIR --tenant ${tenantId}${user}`;
    const holderOptions = this.#hasOwnHome ? home : "";
    const { authMethods: offered } = abilities;
    const maySignIn = this.#hasOwnHome || userId === null;
    return { profile, offered, variables: process.variables, holderOptions, maySignIn, redacted };
  }

  /** Gives the process no further session, so that it ends with its last. */
  retire() {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#observer?.changed();
  }

  /** Retires a process that goes on with a cancelled turn, and kills it if that lasts. */
  retireStray(isRunning: () => boolean) {
    this.retire();
    const end = () => {
      if (this.#isAlive && isRunning()) void this.kill();
    };
    setTimeout(end, AGENT_STRAY_TURN_MS_MAX).unref();
  }

  async kill(): Promise<void> {
    this.#isEnding = true;
    this.#isRetired = true;
    await this.process.kill();
    await this.gone;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#isRetired = true;
    await this.process.end();
    await this.gone;
  }

  /** Takes the agent's messages from the connection. */
  readonly handler: AgentMessageHandler = {
    notified: (method, params, chars) => this.#notified(method, params, chars),
    requested: (method, params, context) => this.#requested(method, params, context),
  };

  #notified(method: string, params: JsonObject, chars: number): Promise<void> | undefined {
    if (method === CLIENT_METHODS.completeElicitation) {
      this.pages.complete(params);
      return undefined;
    }
    if (WITHOUT_EFFECT.has(method) || isVendorMethod(method)) return undefined;
    if (method !== CLIENT_METHODS.update) {
      this.faults.add("unknown_method", method);
      return undefined;
    }
    const id = stringAt(params, "sessionId") ?? "";
    const update = objectAt(params, "update");
    if (update === null || !isUpdate(update)) {
      this.faults.add("invalid_update", JSON.stringify(params));
      return undefined;
    }
    const session = this.#claims.get(id);
    if (session !== undefined) return session.receive(update, chars);
    if (this.#claims.isForgotten(id)) return undefined;
    if (this.#openings.size === 0) this.faults.add("unknown_session", id);
    else if (!this.#claims.keepEarly(id, update, chars)) this.faults.add("dropped_update", id);
    return undefined;
  }

  #requested(method: string, params: JsonObject, context: RequestContext): Serving {
    if (!isServed(method) || isWithheld(method, this.profile.withhold)) {
      if (!isVendorMethod(method)) this.faults.add("unknown_method", method);
      return answered(notFound(method));
    }
    const callId = method === CLIENT_METHODS.createElicitation ? callOf(params) : null;
    if (callId !== null) {
      const opening = [...this.#openings].find((one) => one.isCalling(callId));
      return answered(this.#signIn.elicited(opening, params));
    }
    const id = stringAt(params, "sessionId") ?? "";
    const session = this.#claims.get(id);
    if (session !== undefined) return session.serve(readRequest(session, method, params), context);
    if (!this.#claims.isForgotten(id)) this.faults.add("unknown_session", id);
    return answered(errorAnswer(RPC_ERRORS.invalidParams, `No session "${id}" here`));
  }

  /**
   * Waits for the end of the process, by the sign that comes first: a child may hold the output
   * open after the exit, and a process without output is of no use. What the agent sent is read to
   * the end, without waiting for slow listeners.
   */
  async #watch(): Promise<void> {
    await Promise.race([this.connection.ended, this.process.exited]);
    this.#isAlive = false;
    for (const session of this.#sessions) session.hurry();
    const exit = await this.process.end();
    await within(this.connection.ended, AGENT_LAST_WORDS_MS_MAX);
    const sessions = [...this.#sessions];
    const [only = null] = sessions;
    const message = this.#hasServed ? this.#errorTextFor(only) : this.process.errorOutput.excerpt();
    const gone = { ...exit, message };
    const isRestoring = [...this.#openings].some((opening) => opening.isRestoring);
    const isFailure = !this.#isEnding && !isRestoring;
    this.#end = { gone, isFailure };
    this.#observer?.gone(gone, isFailure);
    this.#exit.resolve(exit);
    this.connection.close();
    const lose = (session: BridgeSession) =>
      session.lost({ ...exit, message: this.#errorTextFor(session) });
    await Promise.all(sessions.map(lose));
  }
}

/** Notifications that the server has no use for. They are legal, so they are no faults. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([CLIENT_METHODS.authStatusUpdate]);

/** ACP reserves these names for vendors, so they are no faults. */
function isVendorMethod(method: string): boolean {
  return method.startsWith("_");
}

function isUpdate(update: JsonObject): update is AgentUpdate {
  return typeof update.sessionUpdate === "string";
}
