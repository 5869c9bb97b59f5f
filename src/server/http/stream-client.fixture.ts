import { get, type IncomingMessage } from "node:http";
import type { ServerWorld } from "./server.fixture.ts";

export interface HeardFrame {
  readonly id: number | null;
  readonly event: string;
  readonly data: { readonly type: string; readonly data: Readonly<Record<string, unknown>> };
}

/** A client of an event stream, which reads when it is told to, over a real socket. */
export class StreamClient {
  readonly response: IncomingMessage;
  /** The first bytes, as text; long streams are not kept. */
  beginning = "";
  readonly frames: HeardFrame[] = [];
  /** The last event that has come. */
  lastId = 0;
  commentCount = 0;
  isOver: "ended" | "cut" | null = null;
  #unfinished = "";
  #wake: () => void = () => {};

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => this.#take(chunk));
    response.on("error", () => {});
    response.on("close", () => {
      this.isOver = response.complete ? "ended" : "cut";
      this.#wake();
    });
  }

  static open(world: ServerWorld, path: string, headers: Record<string, string> = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<StreamClient>();
    const options = { port: world.port, host: "127.0.0.1", path, headers, agent: false };
    get(options, (response) => resolve(new StreamClient(response))).on("error", reject);
    return promise;
  }

  /** Ids of events, and types of the other frames. */
  get heard(): readonly (number | string)[] {
    return this.frames.map(({ id, event }) => id ?? event);
  }

  pause() {
    this.response.pause();
  }

  resume() {
    this.response.resume();
  }

  leave() {
    this.response.destroy();
  }

  /** Waits until it is so; a stream that is over without it never will be. */
  async until(isSo: (client: this) => boolean): Promise<void> {
    while (!isSo(this)) {
      if (this.isOver !== null) throw new Error(`the stream ${this.isOver}: ${this.heard}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async over(): Promise<"ended" | "cut"> {
    while (this.isOver === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.isOver;
  }

  #take(chunk: string) {
    if (this.beginning.length < BEGINNING_CHARS) this.beginning += chunk;
    const parts = `${this.#unfinished}${chunk}`.split("\n\n");
    this.#unfinished = parts.pop() ?? "";
    for (const part of parts) this.#hear(new Map(part.split("\n").map(splitOnce)));
    this.#wake();
  }

  #hear(lines: ReadonlyMap<string, string>) {
    const [id, event, data] = [lines.get("id"), lines.get("event"), lines.get("data")];
    if (lines.has("")) this.commentCount += 1;
    if (event === undefined || data === undefined) return;
    if (id !== undefined) this.lastId = Number(id);
    this.frames.push({ id: id === undefined ? null : Number(id), event, data: JSON.parse(data) });
  }
}

const BEGINNING_CHARS = 4_096;

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}
