import { segmentsOf } from "./route-table.ts";

/** Where a request goes, taken apart. */
export interface Target {
  /** Decoded; null if the path is not encoded as it must be. */
  readonly segments: readonly string[] | null;
  readonly query: URLSearchParams;
}

/**
 * Reads the target of a request line. The path is cut before it is decoded, so that an encoded
 * slash belongs to its segment; and dots mean nothing in it, so that it cannot lead elsewhere.
 */
export function readTarget(url: string): Target {
  // Proxies name the whole address; what comes before the path is checked as the Host header.
  const local = url.replace(/^https?:\/\/[^/?#]*/i, "");
  const at = local.indexOf("?");
  const path = at < 0 ? local : local.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : local.slice(at + 1));
  return { segments: decoded(segmentsOf(path)), query };
}

function decoded(segments: readonly string[]): readonly string[] | null {
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return null;
  }
}
