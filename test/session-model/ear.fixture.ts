import { expect } from "vitest";
import { isObject, type JsonObject, objectAt } from "../../src/core/json.ts";

export type Wanted = (event: JsonObject) => boolean;

/** A subscriber of a session's stream that keeps all events. */
export class Ear {
  readonly events: JsonObject[] = [];
  readonly #giveUp: AbortController;
  #waiting: (() => void)[] = [];
  #isOver = false;

  private constructor(giveUp: AbortController) {
    this.#giveUp = giveUp;
  }

  /** Hears everything after this event; it listens when this is answered. */
  static async open(url: string, after: number): Promise<Ear> {
    const giveUp = new AbortController();
    const headers = { "last-event-id": String(after) };
    const answer = await fetch(url, { headers, signal: giveUp.signal });
    expect(answer.status).toBe(200);
    const ear = new Ear(giveUp);
    void ear.#hear(answer).finally(() => {
      ear.#isOver = true;
      ear.#wake();
    });
    return ear;
  }

  /** The first event of this kind, whether it was heard before or is yet to come. */
  async first(isWanted: Wanted): Promise<JsonObject> {
    while (true) {
      const found = this.events.find(isWanted);
      if (found !== undefined) return found;
      if (this.#isOver) return expect.fail(`the stream ended after ${typesOf(this.events)}`);
      await new Promise<void>((wake) => this.#waiting.push(wake));
    }
  }

  close() {
    this.#giveUp.abort();
  }

  async #hear(answer: Response): Promise<void> {
    let rest = "";
    try {
      for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const frames = `${rest}${piece}`.split("\n\n");
        rest = frames.pop() ?? "";
        this.events.push(...frames.flatMap(eventIn));
        this.#wake();
      }
    } catch {
      // Closed here, or cut off by a server that was killed; either way it hears no more.
    }
  }

  #wake() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

function eventIn(frame: string): readonly JsonObject[] {
  const line = frame.split("\n").find((one) => one.startsWith("data: "));
  const event: unknown = line === undefined ? null : JSON.parse(line.slice(6));
  return isObject(event) && event.id !== undefined ? [event] : [];
}

export function dataOf(event: JsonObject): JsonObject {
  return objectAt(event, "data") ?? {};
}

export function ofType(type: string): Wanted {
  return (event) => event.type === type;
}

/** The verdict of this prompt. */
export function verdictOf(promptId: unknown): Wanted {
  return (event) => {
    const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
    return isVerdict && dataOf(event).promptId === promptId;
  };
}

export function typesOf(events: readonly JsonObject[]): readonly unknown[] {
  return events.map(({ type }) => type);
}
