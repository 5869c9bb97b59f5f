import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request to a bare server: how many frames, and how many bytes of text in each. */
interface Frames {
  readonly count: number;
  readonly bytes: number;
}

/**
 * The floor for a session server: `node:http` and nothing else. It stores nothing and authenticates
 * no callers. A stream receives what is posted to its path. As a program, it prints its address.
 */
export class BareServer {
  readonly #http = createServer((incoming, response) => this.#serve(incoming, response));
  readonly #streams = new Map<string, ServerResponse[]>();
  readonly #replays = new Map<string, Buffer>();
  #lastId = 0;

  async listen(): Promise<number> {
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
    return (this.#http.address() as AddressInfo).port;
  }

  streamsOf(path: string): readonly ServerResponse[] {
    return this.#streams.get(path) ?? [];
  }

  close() {
    this.#http.closeAllConnections();
    this.#http.close();
  }

  #serve(incoming: IncomingMessage, response: ServerResponse) {
    const url = new URL(incoming.url ?? "/", "http://bare");
    if (url.pathname === "/health") {
      response.end("ok");
      return;
    }
    const count = Number(url.searchParams.get("frames") ?? 0);
    const frames = { count, bytes: Number(url.searchParams.get("bytes") ?? 0) };
    if (incoming.method === "POST") {
      incoming.resume().on("end", () => this.#answer(url.pathname, frames, response));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 3000\n\n");
    this.#streams.set(url.pathname, [...this.streamsOf(url.pathname), response]);
    response.on("close", () => this.#forget(url.pathname, response));
    if (count > 0) response.write(this.#replay(frames));
  }

  /** Answers, and then writes a turn to the streams of this path, event by event. */
  #answer(path: string, frames: Frames, response: ServerResponse) {
    const text = JSON.stringify({ answer: "x".repeat(250) });
    const headers = { "content-type": "application/json", "content-length": `${text.length}` };
    response.writeHead(200, headers).end(text);
    for (const stream of this.streamsOf(path)) {
      for (const frame of this.#texts(frames)) stream.write(frame);
      if (frames.count > 0) stream.write("event: turn_complete\n\n");
    }
  }

  /** Cached, because a floor should do as little as possible per request. */
  #replay(frames: Frames): Buffer {
    const name = `${frames.count} of ${frames.bytes}`;
    const known = this.#replays.get(name);
    if (known !== undefined) return known;
    const made = Buffer.from(`${this.#texts(frames).join("")}event: replay_complete\n\n`);
    this.#replays.set(name, made);
    return made;
  }

  #texts({ count, bytes }: Frames): readonly string[] {
    const text = "x".repeat(bytes);
    return Array.from({ length: count }, () => {
      this.#lastId += 1;
      return `id: ${this.#lastId}\nevent: session_update\ndata: ${text}\n\n`;
    });
  }

  #forget(path: string, gone: ServerResponse) {
    const left = this.streamsOf(path).filter((response) => response !== gone);
    this.#streams.set(path, left);
  }
}

if (import.meta.main) {
  console.log(`listening on http://127.0.0.1:${await new BareServer().listen()}`);
}
