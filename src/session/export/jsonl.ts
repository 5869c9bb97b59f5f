import type { Exported } from "./export.ts";
import { type PastPart, pastParts } from "./past.ts";
import { parsed } from "./source.ts";
import { turnEvents } from "./stored-event.ts";

/** One event a line: those of the folded turns, then the raw ones since. */
export async function* jsonLines({ source, record }: Exported) {
  for await (const part of pastParts(source, record)) {
    for (const line of linesOf(part)) yield `${line}\n`;
  }
}

function linesOf(part: PastPart): readonly string[] {
  if (part.kind === "missing") return [JSON.stringify(part.notice)];
  if (part.kind === "turn") return turnEvents(part.turn).map((event) => JSON.stringify(event));
  return part.events.map(({ id, text }) => {
    // A store may have been given JSON with line breaks; a line has none.
    return text.includes("\n") ? JSON.stringify(parsed(text, `event ${id}`)) : text;
  });
}
