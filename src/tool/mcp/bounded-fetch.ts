import { MCP_MESSAGE_BYTES_MAX } from "../../core/limits.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` whose answers end with an error when one message in them grows past the limit. A stream
 * of events may go on for ever, so there it is counted from one blank line to the next.
 */
export const boundedFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  const body = response.body.pipeThrough(meter(MCP_MESSAGE_BYTES_MAX, isStream));
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
};

export function meter(
  bytesMax: number,
  isStream: boolean,
): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      if (bytes > bytesMax) controller.error(new Error("its answer is too large"));
      else controller.enqueue(chunk);
      if (isStream && hasBlankLine(chunk)) bytes = 0;
    },
  });
}

/** A blank line that lies across two chunks is missed, and the next one is not. */
function hasBlankLine(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return text.includes("\n\n") || text.includes("\r\n\r\n");
}
