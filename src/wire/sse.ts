/**
 * Server-sent events: how frames are written, and how the headers and parameters of a client are
 * read. A malformed one counts as absent, except for a queue length, which is refused.
 */

export const EVENT_STREAM_TYPE = "text/event-stream";

/** A comment that keeps proxies from closing a silent stream. */
export const HEARTBEAT = ": heartbeat\n\n";

/** Tells a browser how long to wait before it reconnects. */
export function retryLine(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/**
 * One frame. The text is the JSON of the envelope, which is all that clients of the SDK read; the
 * lines before it are for browsers. A frame that is not in the log has no id. The type is that
 * of the envelope, for callers that know it.
 */
export function sseFrame(id: number | null, text: string, type = eventTypeOf(text)): string {
  const head = id === null ? "" : `id: ${id}\n`;
  return `${head}event: ${type}\ndata: ${oneLine(text)}\n\n`;
}

/** Every envelope of the server begins with its type, so that reading it needs no parse. */
const TYPE_AT_START = /^\{(?:"id":\d+,)?"v":1,"type":"(\w+)"/;

/** The type under which a browser delivers a frame without one. */
const UNTYPED = "message";

function eventTypeOf(text: string): string {
  const type = TYPE_AT_START.exec(text)?.[1] ?? parsedTypeOf(text);
  return /^\w+$/.test(type) ? type : UNTYPED;
}

function parsedTypeOf(text: string): string {
  try {
    const { type } = JSON.parse(text);
    return typeof type === "string" ? type : UNTYPED;
  } catch {
    return UNTYPED;
  }
}

/** In JSON a raw line break is only possible between tokens, where a space means the same. */
function oneLine(text: string): string {
  const isOneLine = !text.includes("\n") && !text.includes("\r");
  return isOneLine ? text : text.replace(/[\r\n]+/g, " ");
}

/** The last event that the client has; null if the header is absent or malformed. */
export function readLastEventId(header: string | null): number | null {
  if (header === null || !/^\d+$/.test(header)) return null;
  const id = Number(header);
  return Number.isSafeInteger(id) ? id : null;
}

/** The epoch of the log that this id belongs to; null if absent or malformed. */
export function readEventEpoch(header: string | null): string | null {
  return header !== null && /^[A-Za-z0-9_-]{1,64}$/.test(header) ? header : null;
}
