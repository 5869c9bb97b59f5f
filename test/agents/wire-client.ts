// The server's HTTP as a client without any library speaks it.

import { isObject, type JsonObject } from "../../src/core/json.ts";
import { must } from "./must.ts";

/** Longer than any agent takes to start on a machine with much else to do. */
const REQUEST_MS_MAX = 150_000;

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
  readonly text: string;
}

export async function send(
  url: string,
  method: string,
  path: string,
  options: { readonly body?: object; readonly clientId?: string; readonly ms?: number } = {},
): Promise<Reply> {
  const { body, clientId, ms = REQUEST_MS_MAX } = options;
  const headers = {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(clientId === undefined ? {} : { "X-Qwen-Client-Id": clientId }),
  };
  const signal = AbortSignal.timeout(ms);
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, signal, ...sent });
  const text = await response.text();
  return { status: response.status, body: objectFrom(text), text };
}

/** The same, of what has to go well. */
export async function ask(...asked: Parameters<typeof send>): Promise<Reply> {
  const reply = await send(...asked);
  const [, method, path] = asked;
  const place = `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, ":id")}`;
  must(reply.status < 300, `${place} is granted`, `${reply.status} ${reply.text}`);
  return reply;
}

export interface WireEvent {
  readonly id: number | null;
  readonly type: string;
  readonly promptId: string | null;
  /** Of a child session that it is an event of. */
  readonly childId: string | null;
  readonly data: JsonObject;
}

/** The events of a stream until it ends, or until the signal is given. */
export async function* eventsOf(
  url: string,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<WireEvent> {
  const headers = { "Last-Event-ID": `${after}` };
  const response = await fetch(`${url}/session/${sessionId}/events`, { headers, signal });
  if (response.body === null || !response.ok) throw new Error(`no stream: ${response.status}`);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) yield eventFrom(objectFrom(line.slice("data: ".length)));
    }
  }
}

export function eventFrom({ id, type, promptId, childId, data }: JsonObject): WireEvent {
  return {
    id: typeof id === "number" ? id : null,
    type: typeof type === "string" ? type : "",
    promptId: typeof promptId === "string" ? promptId : null,
    childId: typeof childId === "string" ? childId : null,
    data: isObject(data) ? data : {},
  };
}

function objectFrom(text: string): JsonObject {
  try {
    const read: unknown = JSON.parse(text);
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}
