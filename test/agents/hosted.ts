// One session of a hosted agent, and a client that listens to it all the time.

import { setTimeout as pause } from "node:timers/promises";
import { isObject, type JsonObject, stringAt } from "../../src/core/json.ts";
import { objectsIn } from "./model/request.ts";
import { Broken, must, within } from "./must.ts";
import { ask, eventsOf, type Reply, type WireEvent } from "./wire-client.ts";

const TURN_MS_MAX = 60_000;
/** More than one command ever needs. */
const ASKS_MAX = 6;
const EVENTS_MAX = 20_000;
/** After a stream has broken off: the server may be gone for a while. */
const RECONNECT_MS = 100;

/** Which option an ask is answered with; the kinds are ACP's. */
export type Vote = "allow_once" | "allow_always" | "reject_once";

export interface Turn {
  readonly promptId: string;
  readonly verdict: WireEvent;
  /** All that belongs to the prompt, up to its verdict. */
  readonly events: readonly WireEvent[];
  readonly text: string;
  readonly asks: readonly WireEvent[];
}

export class HostedSession {
  readonly id: string;
  readonly events: WireEvent[] = [];
  readonly #url: string;
  readonly #voted = new Set<string>();
  readonly #clientId: string;
  readonly #leaving = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #listening: Promise<void>;

  private constructor(url: string, { body }: Reply) {
    this.#url = url;
    this.id = stringAt(body, "sessionId") ?? "";
    this.#clientId = stringAt(body, "clientId") ?? "";
    this.#listening = this.#listen();
  }

  static async create(url: string, settings: object = {}): Promise<HostedSession> {
    const body = { sessionScope: "thread", ...settings };
    return new HostedSession(url, await ask(url, "POST", "/session", { body }));
  }

  ask(method: string, path: string, body?: object): Promise<Reply> {
    const options = { clientId: this.#clientId, ...(body === undefined ? {} : { body }) };
    return ask(this.#url, method, `/session/${this.id}${path}`, options);
  }

  async prompt(text: string, ...blocks: readonly object[]): Promise<string> {
    const prompt = [...blocks, { type: "text", text }];
    const { body } = await this.ask("POST", "/prompt", { prompt });
    return stringAt(body, "promptId") ?? "";
  }

  /** A whole turn; asks in it are answered alike. */
  async turn(text: string, options: { vote?: Vote; blocks?: readonly object[] } = {}) {
    const promptId = await this.prompt(text, ...(options.blocks ?? []));
    return this.finish(promptId, options.vote ?? "allow_once");
  }

  async finish(promptId: string, vote: Vote, ms = TURN_MS_MAX): Promise<Turn> {
    const isOpen = (event: WireEvent) =>
      isAsk(event) && event.promptId === promptId && !this.#voted.has(requestIdOf(event));
    for (let asks = 0; asks <= ASKS_MAX; asks += 1) {
      const isNext = (event: WireEvent) => isVerdict(event, promptId) || isOpen(event);
      const next = await this.heard("the prompt has a verdict", isNext, ms);
      if (isVerdict(next, promptId)) return this.turnOf(promptId, next);
      await this.vote(next, vote);
    }
    throw new Broken("a turn comes to an end", summary(this.events));
  }

  turnOf(promptId: string, verdict: WireEvent): Turn {
    const of = this.events.filter((event) => event.promptId === promptId);
    const events = of.slice(0, of.indexOf(verdict) + 1);
    const asks = events.filter(({ type }) => type === "permission_request");
    return { promptId, verdict, events, text: spoken(events), asks };
  }

  /** The next ask of this turn, which must not end before it. */
  async asked(promptId: string, ms = TURN_MS_MAX): Promise<WireEvent> {
    const event = await this.heard(
      "people are asked",
      (one) => isVerdict(one, promptId) || (isAsk(one) && one.promptId === promptId),
      ms,
    );
    const turn = `the turn ended: ${JSON.stringify(event.data)}`;
    must(isAsk(event), "people are asked", turn, summary(this.events));
    return event;
  }

  async vote(request: WireEvent, vote: Vote): Promise<void> {
    const option = optionsOf(request).find(({ kind }) => kind === vote);
    must(option !== undefined, `an ask offers ${vote}`, request.data);
    this.#voted.add(requestIdOf(request));
    const outcome = { outcome: "selected", optionId: option.optionId };
    await this.ask("POST", `/permission/${requestIdOf(request)}`, { outcome });
  }

  verdict(promptId: string, ms = TURN_MS_MAX): Promise<WireEvent> {
    return this.heard("the prompt has a verdict", (event) => isVerdict(event, promptId), ms);
  }

  /** The first event for which this holds: it may be there already. */
  async heard(rule: string, isIt: (event: WireEvent) => boolean, ms = TURN_MS_MAX) {
    const search = async (): Promise<WireEvent> => {
      for (let at = 0; ; at += 1) {
        while (at >= this.events.length) await this.#more();
        const event = this.events[at];
        if (event !== undefined && isIt(event)) return event;
      }
    };
    return within(ms, rule, search(), () => summary(this.events));
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      const after = this.events.findLast(({ id }) => id !== null)?.id ?? 0;
      try {
        for await (const event of eventsOf(this.#url, this.id, after, signal)) {
          if (this.events.length < EVENTS_MAX) this.events.push(event);
          for (const wake of this.#waiting) wake();
          this.#waiting.clear();
        }
      } catch {
        // A killed server ends a stream in the middle of it; the next try goes on from there.
      }
      if (!signal.aborted) await pause(RECONNECT_MS);
    }
  }

  async #more(): Promise<void> {
    if (this.#leaving.signal.aborted) throw new Broken("the client still listens");
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }
}

function isAsk({ type }: WireEvent): boolean {
  return type === "permission_request";
}

export function isVerdict({ type, promptId }: WireEvent, wanted: string): boolean {
  return (type === "turn_complete" || type === "turn_error") && promptId === wanted;
}

function requestIdOf({ data }: WireEvent): string {
  return stringAt(data, "requestId") ?? "";
}

export function optionsOf({ data }: WireEvent): readonly JsonObject[] {
  return objectsIn(data.options);
}

/** The update of a `session_update`, and an empty one of any other event. */
export function updateOf({ type, data }: WireEvent): JsonObject {
  return type === "session_update" && isObject(data.update) ? data.update : {};
}

/** What the agent said in these events, in one piece. */
export function spoken(events: readonly WireEvent[]): string {
  return chunksOf(events).join("");
}

export function chunksOf(events: readonly WireEvent[]): readonly string[] {
  return events.flatMap((event) => {
    const { sessionUpdate, content } = updateOf(event);
    const isWords = sessionUpdate === "agent_message_chunk" && isObject(content);
    return isWords && typeof content.text === "string" ? [content.text] : [];
  });
}

const SUMMARY_EVENTS = 40;

/** To find out what happened instead. */
export function summary(events: readonly WireEvent[]): string {
  const words = events.slice(-SUMMARY_EVENTS).map((event) => {
    const { sessionUpdate } = updateOf(event);
    return typeof sessionUpdate === "string" ? sessionUpdate : event.type;
  });
  const last = events.findLast(({ type }) => /error|failed|died/.test(type));
  return `${words.join(" ")} ${last === undefined ? "" : JSON.stringify(last.data)}`;
}
