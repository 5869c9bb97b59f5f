import { type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { ACP_VERSION, AGENT_METHODS, CANCEL_REQUEST } from "../../../wire/acp.ts";
import * as rpc from "../../../wire/rpc.ts";
import { OVERLONG } from "../../../wire/rpc.ts";
import {
  ClientLink,
  type EchoAnswer,
  type MethodHandler,
  type Outbox,
  readClientAbilities,
  refusal,
} from "./client-link.ts";
import type { Flags } from "./flags.ts";
import { Prompts } from "./prompts.ts";
import { EchoSessions } from "./session.ts";
import { SessionMethods } from "./session-methods.ts";
import type { EchoStore } from "./session-store.ts";
import type { EchoDeps } from "./turn.ts";

const AUTH_METHOD = { id: "echo", name: "Nothing at all", description: "Always succeeds" };

/** The agent itself: it takes lines of the client, and writes to the outbox. */
export class EchoAgent {
  readonly #flags: Flags;
  readonly #outbox: Outbox;
  readonly #link: ClientLink;
  readonly #prompts: Prompts;
  readonly #methods: ReadonlyMap<string, MethodHandler>;
  #isInitialized = false;
  #needsAuth: boolean;

  constructor(flags: Flags, outbox: Outbox, store: EchoStore) {
    const sessions = new EchoSessions(store, flags.has("--single-session"));
    const link = new ClientLink(outbox);
    const deps: EchoDeps = { flags, outbox, link, sessionIds: () => sessions.openIds() };
    this.#flags = flags;
    this.#outbox = outbox;
    this.#link = link;
    this.#prompts = new Prompts(deps, sessions);
    this.#needsAuth = flags.has("--needs-auth");
    this.#methods = new Map<string, MethodHandler>([
      [AGENT_METHODS.authenticate, (params) => this.#authenticate(params)],
      [AGENT_METHODS.prompt, this.#prompts.prompt],
      ...new SessionMethods(deps, sessions).methods(),
    ]);
  }

  receive(line: string | typeof OVERLONG) {
    const message = line === OVERLONG ? TOO_LONG : rpc.readRpc(line);
    switch (message.kind) {
      case "request":
        this.#serve(message.id, message.method, message.params);
        return;
      case "notification":
        this.#notified(message.method, message.params);
        return;
      case "result":
        this.#link.answered(message.id, { result: message.result });
        return;
      case "error":
        this.#link.answered(message.id, { error: message.error });
        return;
      case "malformed": {
        const error = { code: rpc.RPC_ERRORS.parse, message: message.why };
        this.#outbox.post(rpc.errorLine(null, error));
      }
    }
  }

  /** Answers at once where it can, so that answers come in the order of the requests. */
  #serve(id: rpc.RpcId, method: string, params: JsonObject) {
    const answer = this.#answer(id, method, params);
    if (!(answer instanceof Promise)) this.#reply(id, answer);
    else {
      const failed = (thrown: unknown) => refusal("internal", String(thrown));
      void answer.catch(failed).then((late) => this.#reply(id, late));
    }
  }

  #reply(id: rpc.RpcId, answer: EchoAnswer | null) {
    if (answer === null) return;
    const line =
      "error" in answer ? rpc.errorLine(id, answer.error) : rpc.resultLine(id, answer.result);
    this.#outbox.post(line.repeat(answer.times ?? 1));
  }

  /** Null where a flag tells echo not to answer. */
  #answer(
    id: rpc.RpcId,
    method: string,
    params: JsonObject,
  ): EchoAnswer | Promise<EchoAnswer> | null {
    if (method === AGENT_METHODS.initialize) {
      return this.#flags.has("--never-answer") ? null : this.#initialize(params);
    }
    const serve = this.#methods.get(method);
    if (serve === undefined) return refusal("methodNotFound", `echo does not serve ${method}`);
    if (!this.#isInitialized) return refusal("invalidRequest", "initialize comes first");
    if (this.#needsAuth && method !== AGENT_METHODS.authenticate) {
      return refusal("authRequired", "authenticate comes first");
    }
    try {
      return serve(params, id);
    } catch (thrown) {
      return refusal("internal", String(thrown));
    }
  }

  #initialize(params: JsonObject): EchoAnswer {
    this.#isInitialized = true;
    this.#link.abilities = readClientAbilities(objectAt(params, "clientCapabilities") ?? {});
    return {
      result: {
        protocolVersion: this.#flags.count("--protocol") ?? ACP_VERSION,
        agentInfo: { name: "echo", title: "Echo", version: "1.0.0" },
        agentCapabilities: capabilitiesOf(this.#flags),
        authMethods: this.#flags.has("--needs-auth") ? [AUTH_METHOD] : [],
      },
    };
  }

  #authenticate(params: JsonObject): EchoAnswer {
    if (params.methodId !== AUTH_METHOD.id) return refusal("invalidParams", "no such method");
    this.#needsAuth = false;
    return { result: {} };
  }

  #notified(method: string, params: JsonObject) {
    if (method === AGENT_METHODS.cancel) this.#prompts.cancel(stringAt(params, "sessionId") ?? "");
    if (method === CANCEL_REQUEST) this.#prompts.cancelRequest(params.requestId);
  }
}

const TOO_LONG = { kind: "malformed", why: "the line is too long" } as const;

function capabilitiesOf(flags: Flags): JsonObject {
  const unless = (flag: Parameters<Flags["has"]>[0], name: string) => {
    return flags.has(flag) ? {} : { [name]: {} };
  };
  return {
    loadSession: !flags.has("--no-load"),
    promptCapabilities: {
      image: !flags.has("--no-images"),
      audio: false,
      embeddedContext: !flags.has("--no-embedded"),
    },
    // Echo never connects to the servers; it only lists them.
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: {
      ...unless("--no-list", "list"),
      ...unless("--no-resume", "resume"),
      ...unless("--no-close", "close"),
      ...unless("--no-fork", "fork"),
      ...unless("--no-system-prompt", "systemPrompt"),
    },
    // No version of ACP has a name for it yet.
    ...(flags.has("--steer") || flags.has("--queue")
      ? { _meta: { echo: { promptQueueing: true } } }
      : {}),
  };
}
