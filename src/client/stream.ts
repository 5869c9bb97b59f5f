import { createParser } from "eventsource-parser";
import { isObject, type JsonObject } from "../core/json.ts";
import { FermataError } from "./fault.ts";
import type { Transport } from "./transport.ts";

/** One frame of a stream. Events of the log have a number. */
export interface WireFrame {
  readonly id?: number;
  readonly type: string;
  readonly data: JsonObject;
}

/** The server is heard every 15 s; a connection without a sound for this long is dead. */
const SILENCE_MS_MAX = 50_000;

/**
 * The frames of one connection, until it ends. Rejects with a `FermataError` if it cannot be
 * opened or breaks, and with the reason of the signal. A frame that was cut in the middle is not
 * given.
 */
export async function* framesOf(
  transport: Transport,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  opened: (head: Headers) => void = () => {},
): AsyncGenerator<WireFrame> {
  const ending = new AbortController();
  const end = () => ending.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const hear = () => {
    clearTimeout(silence);
    silence = setTimeout(() => ending.abort(new Error("nothing was heard")), SILENCE_MS_MAX);
  };
  try {
    hear();
    const response = await transport.open(path, headers, ending.signal).catch((error) => {
      throw signal.aborted ? signal.reason : deadOr(error);
    });
    if (!/^text\/event-stream/.test(response.headers.get("content-type") ?? "")) {
      // Another service at this address would answer every attempt so.
      const { status } = response;
      throw new FermataError("answer_unreadable", "The answer is no event stream.", { status });
    }
    opened(response.headers);
    const waiting: WireFrame[] = [];
    const parser = createParser({ onEvent: ({ data }) => waiting.push(frameOf(data)) });
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read().catch((cause) => {
        throw signal.aborted ? signal.reason : broken(cause);
      });
      if (done) return;
      hear();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* waiting.splice(0);
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", end);
    ending.abort();
  }
}

function deadOr(error: unknown): unknown {
  return error instanceof FermataError ? error : broken(error);
}

function broken(cause: unknown): FermataError {
  return new FermataError("unreachable", "The stream broke off.", { cause });
}

/** Where the types of frames begin. */
function frameOf(text: string): WireFrame {
  const frame = parsed(text);
  const { id, type, data } = frame;
  const isNumbered = id === undefined || Number.isSafeInteger(id);
  if (typeof type === "string" && isObject(data) && isNumbered) return { ...frame, type, data };
  throw new FermataError("answer_unreadable", "A frame of the stream is none of Fermata's.");
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
