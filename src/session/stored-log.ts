import type { LogEvent } from "../core/replay/compact.ts";

/** What a store gives back is what we gave it, under a checksum: here a numbered event. */
export function eventIn({ text }: { readonly text: string }): LogEvent {
  return JSON.parse(text);
}

/** The same of a finished turn, which is stored as a list of them. */
export function eventsIn({ text }: { readonly text: string }): readonly LogEvent[] {
  return JSON.parse(text);
}
