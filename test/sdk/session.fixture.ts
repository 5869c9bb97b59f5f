import {
  DaemonClient,
  type DaemonEvent,
  DaemonHttpError,
  DaemonSessionClient,
} from "@qwen-code/sdk/daemon";
import { expect, onTestFinished } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";

type Options = Pick<ConstructorParameters<typeof DaemonClient>[0], "fetch">;

/** A client of the SDK without its own limit on prompts: what counts here is the server's. */
export function clientOf({ url }: { readonly url: string }, options: Options = {}): DaemonClient {
  return new DaemonClient({ baseUrl: url, maxPendingPromptsPerSession: null, ...options });
}

/** A new session, and the client that made it. */
export function newSession(
  server: { readonly url: string },
  options: Options = {},
): Promise<DaemonSessionClient> {
  return DaemonSessionClient.createOrAttach(clientOf(server, options), { sessionScope: "thread" });
}

/** Another client in the same session, with a connection of its own. */
export function joined(
  server: { readonly url: string },
  { sessionId }: DaemonSessionClient,
): Promise<DaemonSessionClient> {
  return DaemonSessionClient.resume(clientOf(server), sessionId);
}

/** A prompt of these lines; `echo` does what they say. */
export function script(...lines: readonly string[]) {
  return { prompt: [{ type: "text" as const, text: lines.join("\n") }] };
}

export function dataOf({ data }: DaemonEvent): JsonObject {
  return isObject(data) ? data : expect.fail(`no object: ${JSON.stringify(data)}`);
}

/** The update of a `session_update`, and an empty one of any other event. */
export function updateOf(event: DaemonEvent): JsonObject {
  const { update } = dataOf(event);
  return event.type === "session_update" && isObject(update) ? update : {};
}

/** What the agent said in these events, in one piece. */
export function spoken(events: readonly DaemonEvent[]): string {
  const texts = events.map((event) => {
    const { sessionUpdate, content } = updateOf(event);
    return sessionUpdate === "agent_message_chunk" && isObject(content) ? content.text : "";
  });
  return texts.join("");
}

/** The verdicts of a prompt: P2 says that there is one. */
export function verdictsOf(events: readonly DaemonEvent[], promptId: string): DaemonEvent[] {
  return events.filter((event) => {
    return /^turn_(?:complete|error)$/.test(event.type) && dataOf(event).promptId === promptId;
  });
}

function idsOf(events: readonly DaemonEvent[]): number[] {
  return events.flatMap(({ id }) => (id === undefined ? [] : [id]));
}

/** P3: everything behind this event that was heard is there, in order, and once. */
export function expectNoGap(events: readonly DaemonEvent[], after = 0): void {
  const ids = idsOf(events);
  expect(ids).toEqual(ids.map((_, index) => after + index + 1));
}

/** The status and the body of what the SDK was refused. */
export async function refusalOf(asked: Promise<unknown>): Promise<JsonObject> {
  const thrown = await asked.then(
    (answer) => expect.fail(`it was granted: ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof DaemonHttpError)) throw thrown;
  const { status, body } = thrown;
  return { status, ...(isObject(body) ? body : { body }) };
}

type Test = (event: DaemonEvent) => boolean;

/** An application that reads its session's events for as long as it is there. */
export class Listener {
  readonly session: DaemonSessionClient;
  readonly events: DaemonEvent[] = [];
  /** The last event that its session knew when it came. */
  readonly after: number;
  readonly #leaving = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #ended: Promise<void>;
  #hasEnded = false;

  constructor(session: DaemonSessionClient) {
    this.session = session;
    this.after = session.lastEventId ?? 0;
    this.#ended = this.#listen();
    onTestFinished(() => this.leave());
  }

  /** One that has been told everything that happened before it came. */
  static async caughtUp(session: DaemonSessionClient): Promise<Listener> {
    const listener = new Listener(session);
    await listener.heard("replay_complete");
    return listener;
  }

  /** The first event of this type, or for which this holds: it may be there already. */
  async heard(wanted: string | Test): Promise<DaemonEvent> {
    const isIt: Test = typeof wanted === "string" ? ({ type }) => type === wanted : wanted;
    for (let looked = 0; ; looked += 1) {
      while (looked === this.events.length) await this.#more(wanted);
      const event = this.events[looked];
      if (event !== undefined && isIt(event)) return event;
    }
  }

  /** The verdict of this prompt. */
  verdict(promptId: string): Promise<DaemonEvent> {
    return this.heard((event) => verdictsOf([event], promptId).length > 0);
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  /** Until the server has ended the stream. */
  ended(): Promise<void> {
    return this.#ended;
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#ended;
  }

  async #listen(): Promise<void> {
    try {
      for await (const event of this.session.events({ signal: this.#leaving.signal })) {
        this.events.push(event);
        this.#wake();
      }
    } catch {
      // A killed server ends a stream in the middle of it. What is missing then, is not heard.
    } finally {
      this.#hasEnded = true;
      this.#wake();
    }
  }

  async #more(wanted: string | Test): Promise<void> {
    if (this.#hasEnded) throw new Error(`not heard: ${wanted}; but ${this.types.join()}`);
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
