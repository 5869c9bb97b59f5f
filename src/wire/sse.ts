/**
 * Server-sent events as the wire has them: what a stream says between its frames, how a frame is
 * spelled, and what a client may ask for. What a client asks for badly is as if it had not asked,
 * with one exception: a queue length that cannot be had is refused.
 */

export const EVENT_STREAM_TYPE = "text/event-stream";

/** A comment. It keeps proxies from closing a quiet stream. */
export const HEARTBEAT = ": heartbeat\n\n";

/** How long a browser waits before it connects again. */
export function retryLine(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/**
 * One frame. The text is the JSON of its envelope and is sent as it is; clients of the SDK read
 * nothing else, and the lines before it are for browsers. What is in no log has no id.
 */
export function sseFrame(id: number | null, text: string): string {
  const head = id === null ? "" : `id: ${id}\n`;
  return `${head}event: ${eventTypeOf(text)}\ndata: ${oneLine(text)}\n\n`;
}

/** Where everything that we write has its type, so that nothing has to be parsed for it. */
const TYPE_AT_START = /^\{(?:"id":\d+,)?"v":1,"type":"(\w+)"/;

/** A browser hands over as `message` what has no type of its own. */
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

/** In JSON a raw line break stands only between tokens, where a space means the same. */
function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, " ") : text;
}

/** The last event that the client has; null if it does not say so in a way that makes sense. */
export function readLastEventId(header: string | null): number | null {
  if (header === null || !/^\d+$/.test(header)) return null;
  const id = Number(header);
  return Number.isSafeInteger(id) ? id : null;
}

/** The log that this id belongs to, by the same leniency. */
export function readEventEpoch(header: string | null): string | null {
  return header !== null && /^[A-Za-z0-9_-]{1,64}$/.test(header) ? header : null;
}

/** How many frames may wait for the client; null if it leaves that to us. */
export function readMaxQueued(
  text: string | null,
  { min, max }: { readonly min: number; readonly max: number },
): number | null | "invalid" {
  if (text === null) return null;
  const frames = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return frames >= min && frames <= max ? frames : "invalid";
}
