import type { ServerResponse } from "node:http";
import type { Notice } from "../../session/bus/frame.ts";
import { EVENT_STREAM_TYPE } from "../../wire/sse.ts";
import type { AnswerHeaders } from "../answer.ts";
import { type EventSource, EventStream, type StreamOptions } from "./event-stream.ts";

/** All open streams of a server. */
export class EventStreams {
  readonly #options: StreamOptions;
  readonly #freshId: () => string;
  readonly #open = new Set<EventStream>();

  constructor(options: StreamOptions, freshId: () => string) {
    this.#options = options;
    this.#freshId = freshId;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** The head leaves with the stream's first line, at once: clients give up waiting for it. */
  async serve(
    response: ServerResponse,
    source: EventSource,
    epoch: string | null,
    headers: AnswerHeaders,
  ): Promise<void> {
    this.greet(response, epoch, headers);
    const stream = new EventStream(response, source, this.#options);
    this.#open.add(stream);
    try {
      await stream.run();
    } finally {
      this.#open.delete(stream);
    }
  }

  /** The head alone, as for whoever asks for no more. */
  greet(response: ServerResponse, epoch: string | null, headers: AnswerHeaders): ServerResponse {
    return response.writeHead(200, { ...headers, ...this.#head(epoch) });
  }

  endAll(last: Notice) {
    for (const stream of this.#open) stream.end(last);
  }

  /** Nothing between us and the client may hold frames back or change them (wire, 6.2). */
  #head(epoch: string | null): AnswerHeaders {
    return {
      "Content-Type": EVENT_STREAM_TYPE,
      "Cache-Control": "no-cache, no-transform",
      Connection: "keep-alive",
      "X-Accel-Buffering": "no",
      "X-Qwen-SSE-Stream-Id": this.#freshId(),
      ...(epoch === null ? {} : { "X-Qwen-Event-Epoch": epoch }),
    };
  }
}
