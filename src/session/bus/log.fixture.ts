import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import type { Result } from "../../core/result.ts";
import { value } from "../../store/kit/expect.ts";
import type { StoreHarness } from "../../store/kit/harness.ts";
import { CheckStage, type Writer } from "../../store/kit/stage.ts";
import { memoryHarness } from "../../store/memory/harness.fixture.ts";
import type { EventPage } from "../../store/store.ts";
import type { PastSource } from "./catch-up.ts";
import { type Chunk, type Frame, frameOf } from "./frame.ts";
import { SessionBus } from "./session-bus.ts";
import type { SubscribeRequest, Subscription } from "./subscription.ts";

export const EPOCH = "epoch-1";

/** A log in a real store, its bus, and a clock: what an actor has in its hands. */
export class LogWorld implements PastSource {
  readonly bus: SessionBus;
  nowMs = 0;
  /** How often the store was asked for the past. */
  readCount = 0;
  /** While this is set, the store takes its time: it answers when it is let. */
  isHeld = false;
  readonly held: (() => void)[] = [];
  /** The store's own limit on a page. */
  pageMax = Number.POSITIVE_INFINITY;
  readonly #stage: CheckStage;
  readonly #writer: Writer;
  #frames: Frame[] = [];
  #lastId = 0;

  private constructor(stage: CheckStage, writer: Writer) {
    this.#stage = stage;
    this.#writer = writer;
    this.bus = new SessionBus({ epoch: EPOCH, lastEventId: 0 }, () => this.nowMs);
  }

  static async make(harness: StoreHarness = memoryHarness()): Promise<LogWorld> {
    const stage = new CheckStage(harness, await harness.makePlace());
    return new LogWorld(stage, await stage.session(await stage.start()));
  }

  clear(): Promise<void> {
    return this.#stage.clear();
  }

  /** Makes events durable that are not published yet. */
  async append(count: number, text = "") {
    await this.write(Array.from({ length: count }, () => ({ data: { text } })));
  }

  /** The same of events that are more than some text. */
  async write(events: readonly JsonObject[]) {
    const texts = events.map((event, index) => {
      const id = this.#lastId + index + 1;
      return { id, text: JSON.stringify({ id, v: 1, type: "session_update", ...event }) };
    });
    await value(this.#writer.commit({ events: texts }));
    this.#lastId += texts.length;
    this.#frames.push(...texts.map(frameOf));
  }

  /**
   * Publishes that many of the durable events, or all of them, in one call. They may be said to
   * have more bytes than they have: a test then needs no megabytes.
   */
  publish(count = this.#frames.length, terminalId: number | null = null, bytes?: number) {
    const frames = this.#frames.slice(0, count);
    const weighed = bytes === undefined ? frames : frames.map((frame) => ({ ...frame, bytes }));
    this.bus.publish(weighed, terminalId);
    this.#frames = this.#frames.slice(count);
  }

  /** Durable, and never published: the actor was gone before it could. */
  forget(count: number) {
    this.#frames = this.#frames.slice(count);
  }

  async say(count: number, text = "") {
    await this.append(count, text);
    this.publish();
  }

  async trim(trimThrough: number) {
    await value(this.#writer.snapshot({ trimThrough }));
  }

  get lastId(): number {
    return this.#lastId;
  }

  async readPast(after: number, limit: number): Promise<Result<EventPage>> {
    this.readCount += 1;
    if (this.isHeld) await new Promise<void>((answer) => this.held.push(answer));
    const range = { after, limit: Math.min(limit, this.pageMax) };
    return this.#writer.store.readEvents(this.#writer.key, range);
  }

  subscribe(request: Partial<SubscribeRequest> = {}, source: PastSource = this): Subscription {
    const made = this.bus.subscribe({ after: null, epoch: EPOCH, ...request }, source);
    return made.ok ? made.value : assert.fail(made.refusal.code);
  }
}

export function eventText(id: number, text = ""): string {
  return JSON.stringify({ id, v: 1, type: "session_update", data: { text } });
}

/** What a reader hears with its next look: ids of events, and types of the other frames. */
export async function heard(
  stream: AsyncIterator<Chunk, undefined>,
): Promise<"over" | readonly (number | string)[]> {
  const { value: chunk, done } = await stream.next();
  return done ? "over" : framesOf(chunk).map(({ id, text }) => id ?? typeOf(text));
}

/** The same with the data of frames that have no id. */
export async function told(stream: AsyncIterator<Chunk, undefined>) {
  const { value: chunk, done } = await stream.next();
  if (done) return "over";
  return framesOf(chunk).map(({ id, text }) => {
    return id ?? { type: typeOf(text), data: dataOf(text) };
  });
}

export function framesOf(chunk: Chunk) {
  return chunk.flatMap(({ frames }) => frames);
}

export function typeOf(text: string): string {
  const { type } = JSON.parse(text);
  return type;
}

export function dataOf(text: string): Readonly<Record<string, unknown>> {
  const { data } = JSON.parse(text);
  return data;
}

/** Ids from one to another, both included. */
export function ids(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Lets everything run that can: promises that wait for nothing but their turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
