import type { AskHandle, ToolCallPart, TurnHandle, TurnPart } from "../../../client/index.ts";

/** Where the parts of a turn go. */
export interface TurnPrinter {
  part(part: TurnPart): void;
  /** Texts do not always end their last line. */
  end(): void;
}

/** Text to the output; what the agent does to the error output, unless nothing is wanted of it. */
export function textPrinter(isQuiet: boolean): TurnPrinter {
  const known = new Map<ToolCallPart, string>();
  let isInLine = false;
  const note = (line: string) => {
    if (!isQuiet) console.error(line);
  };
  const end = () => {
    if (isInLine) process.stdout.write("\n");
    isInLine = false;
  };
  return {
    end,
    part(part) {
      if (part.type === "text") {
        process.stdout.write(part.text);
        isInLine = !part.text.endsWith("\n");
      } else if (part.type === "tool" && known.get(part.call) !== part.call.status) {
        known.set(part.call, part.call.status);
        end();
        note(`${MARKS.get(part.call.status) ?? "·"} ${part.call.kind} ${part.call.title}`);
      } else if (part.type === "child" && part.child.state !== null) {
        note(`✓ ${part.child.title} (${part.child.agent}): ${part.child.state}`);
      } else if (part.type === "ask" && part.ask.outcome === null) {
        note(`? ${part.ask.title}`);
      }
    },
  };
}

const MARKS: ReadonlyMap<string, string> = new Map([
  ["completed", "✓"],
  ["failed", "✗"],
]);

/** Each part as a line of JSON, in the shape that `fermata/client` has for it. */
export function jsonPrinter(): TurnPrinter {
  return {
    end: () => {},
    part(part) {
      process.stdout.write(`${JSON.stringify(part)}\n`);
    },
  };
}

/** The asks of a part that wait for an answer, also those of children. */
export function openAsksOf(part: TurnPart): readonly AskHandle[] {
  if (part.type === "ask") return part.ask.outcome === null ? [part.ask] : [];
  return part.type === "child" ? part.child.asks.filter(({ outcome }) => outcome === null) : [];
}

/** Prints a turn to its end; the function looks at each part, and may end it there by true. */
export async function printTurn(
  turn: TurnHandle,
  printer: TurnPrinter,
  signal: AbortSignal,
  look: (part: TurnPart) => Promise<boolean> = async () => false,
): Promise<void> {
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  ended.catch(() => {});
  const parts = turn[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await Promise.race([parts.next(), ended]);
      if (done || value === undefined) return;
      printer.part(value);
      if (await look(value)) return;
    }
  } finally {
    printer.end();
    void parts.return?.();
  }
}
