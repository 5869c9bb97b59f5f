import type { ContentBlock } from "../core/agent-update.ts";
import type { JsonObject } from "../core/json.ts";
import type { LiveSummary, SeenClient, SessionSummary } from "../wire/session-summary.ts";
import { FermataError } from "./fault.ts";
import { type EventCursor, type FollowedItem, follow } from "./follow.ts";
import { EventHub } from "./hub.ts";
import { LiveView, type ViewOptions } from "./session-view.ts";
import { type CallSettings, freshId, type Transport } from "./transport.ts";
import { TurnHandle } from "./turn-handle.ts";

export interface PromptOptions extends CallSettings {
  /** By which the server knows a repeat; by default a fresh one for all attempts of a call. */
  readonly key?: string;
  readonly deadlineMs?: number;
}

/** A session as its status says; what is known of a live one only may be missing. */
export type SessionStatus = SessionSummary &
  Partial<LiveSummary> & { readonly clients: readonly SeenClient[] };

/** A prompt that has no verdict yet. */
export interface PendingPrompt {
  readonly promptId: string;
  readonly text: string;
  /** When it was admitted, in milliseconds. */
  readonly queuedAt: number;
  readonly state: "queued" | "running";
}

interface AdmittedAnswer {
  readonly promptId: string;
  readonly lastEventId: number;
  /** An older server does not say it. */
  readonly eventEpoch?: string;
}

/** One session of the server. Having it costs nothing there, and starts no agent. */
export class SessionHandle {
  readonly id: string;
  readonly #transport: Transport;
  readonly #hub: EventHub;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#transport = transport;
    this.#hub = new EventHub(transport, id);
  }

  /**
   * Sends a prompt; resolves when it is durable. However often the way to the server breaks, it is
   * one prompt with one verdict (P2).
   */
  async prompt(
    input: string | readonly ContentBlock[],
    { key = freshId(), deadlineMs, signal }: PromptOptions = {},
  ): Promise<TurnHandle> {
    const prompt = typeof input === "string" ? [{ type: "text", text: input }] : input;
    const body = { prompt, ...(deadlineMs !== undefined && { deadlineMs }) };
    const admitted = await this.#named<AdmittedAnswer>("/prompt", { body, key }, signal);
    const { promptId, lastEventId: id, eventEpoch: epoch = null } = admitted;
    return this.#turn(promptId, { epoch, id });
  }

  /** A turn whose prompt was admitted earlier: with the cursor, from there on. */
  turn(promptId: string, from: EventCursor = { epoch: null, id: 0 }): TurnHandle {
    return this.#turn(promptId, from);
  }

  /** Every event after the cursor, by default from the first, for as long as the signal lets it. */
  events(
    options: CallSettings & { readonly after?: EventCursor } = {},
  ): AsyncIterable<FollowedItem> {
    const { after = { epoch: null, id: 0 }, signal = new AbortController().signal } = options;
    return follow(this.#transport, this.id, after, signal);
  }

  /** The session as a user interface shows it, kept up to date until it is disposed of. */
  view(options: ViewOptions = {}): LiveView {
    return new LiveView(this.#transport, this.#hub, this.id, options);
  }

  status(options?: CallSettings): Promise<SessionStatus> {
    return this.#transport.call("GET", this.#path(""), options);
  }

  /** Attaches this client, and brings a closed session back. Its agent is started. */
  async resume({ signal }: CallSettings = {}): Promise<void> {
    const call = { body: {}, named: true, ...(signal && { signal }) };
    await this.#transport.call("POST", this.#path("/resume"), call);
  }

  /** The prompt at work, and those that wait, in order. */
  async queue(options?: CallSettings): Promise<readonly PendingPrompt[]> {
    const path = this.#path("/pending-prompts");
    const answer = await this.#transport.call<{ pendingPrompts: PendingPrompt[] }>(
      "GET",
      path,
      options,
    );
    return answer.pendingPrompts;
  }

  /** The whole of it as a file, piece by piece. */
  async export(format: string, options: CallSettings = {}): Promise<ReadableStream<Uint8Array>> {
    const path = this.#path(`/export?format=${encodeURIComponent(format)}`);
    const { signal = new AbortController().signal } = options;
    const response = await this.#transport.open(path, {}, signal);
    return response.body ?? new ReadableStream();
  }

  /** A name that does for its id, unique among what its users see; it can be replaced. */
  async setName(name: string, { signal }: CallSettings = {}): Promise<void> {
    const call = { body: { name }, ...(signal && { signal }) };
    await this.#transport.call("PATCH", this.#path("/metadata"), call);
  }

  /** Free text for people; an empty one takes the title away. */
  async rename(displayName: string, { signal }: CallSettings = {}): Promise<void> {
    const body = { displayName };
    const call = { body, ...(signal && { signal }) };
    await this.#transport.call("PATCH", this.#path("/metadata"), call);
  }

  /** Cancels the turn that runs; waiting prompts go on. */
  async cancel(options?: CallSettings): Promise<void> {
    await this.#transport.call("POST", this.#path("/cancel"), options);
  }

  /** Ends the session for all its clients. What is stored stays. */
  async close(options?: CallSettings): Promise<void> {
    await this.#transport.call("DELETE", this.#path(""), options);
  }

  /** Closes it and removes what is stored of it. */
  async delete({ signal }: CallSettings = {}): Promise<void> {
    const call = { body: { sessionIds: [this.id] }, ...(signal && { signal }) };
    const answer = await this.#transport.call("POST", "/sessions/delete", call);
    const [fault] = Array.isArray(answer.errors) ? answer.errors : [];
    if (fault !== undefined) throw new FermataError("session_busy", String(fault.error));
  }

  /** A session of its own that goes on from here, or from an earlier turn. */
  async fork(
    options: CallSettings & { readonly name?: string; readonly atTurn?: string } = {},
  ): Promise<SessionHandle> {
    const { name, atTurn, signal } = options;
    const body = {
      ...(name !== undefined && { name }),
      ...(atTurn !== undefined && { atRecordId: atTurn }),
    };
    const forked = await this.#named("/branch", { body }, signal);
    return new SessionHandle(this.#transport, String(forked.sessionId));
  }

  /** What may happen unasked, what was granted, and what is asked just now. */
  approvals(options?: CallSettings): Promise<JsonObject> {
    return this.#transport.call("GET", this.#path("/approvals"), options);
  }

  /** Usage, time and cost. */
  stats(options?: CallSettings): Promise<JsonObject> {
    return this.#transport.call("GET", this.#path("/stats"), options);
  }

  async setAgent(agent: string, options: CallSettings = {}): Promise<void> {
    await this.#transport.call("POST", this.#path("/agent"), { ...options, body: { agent } });
  }

  async setModel(modelId: string, options: CallSettings = {}): Promise<void> {
    await this.#transport.call("POST", this.#path("/model"), { ...options, body: { modelId } });
  }

  #turn(promptId: string, from: EventCursor): TurnHandle {
    return new TurnHandle({ sessionId: this.id, promptId, from }, this.#transport, this.#hub);
  }

  /** Sends a call under the client's name. A session that does not know it is told it first. */
  async #named<Answer = JsonObject>(
    rest: string,
    call: { readonly body: object; readonly key?: string },
    signal?: AbortSignal,
  ): Promise<Answer> {
    const whole = { ...call, named: true, ...(signal && { signal }) };
    try {
      return await this.#transport.call<Answer>("POST", this.#path(rest), whole);
    } catch (error) {
      const isStranger = error instanceof FermataError && error.code === "invalid_client_id";
      if (!isStranger) throw error;
    }
    await this.resume({ ...(signal && { signal }) });
    return this.#transport.call<Answer>("POST", this.#path(rest), whole);
  }

  #path(rest: string): string {
    return `/session/${encodeURIComponent(this.id)}${rest}`;
  }
}
