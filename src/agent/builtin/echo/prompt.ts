import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import type { Flags } from "./flags.ts";

/** A prompt as echo looks at it. */
export interface Prompt {
  /** The last text: what the user typed. A script is looked for here only. */
  readonly words: string;
  /** Text that came before it: a seed, the output of a shell, a file. */
  readonly context: readonly string[];
  /** All of it as text, with a mark for what is none. */
  readonly whole: string;
}

/** The prompt, or a sentence that says what is wrong with it. */
export function readPrompt(value: unknown, flags: Flags): Prompt | string {
  if (!Array.isArray(value)) return "prompt must be a list of content blocks";
  const texts: string[] = [];
  const parts: string[] = [];
  for (const block of value) {
    const part = isObject(block) ? partOf(block) : null;
    if (part === null) return "prompt has a block that is no content block";
    if (part.kind === "image" && flags.has("--no-images")) return "echo was told to take no images";
    if (part.kind === "resource" && flags.has("--no-embedded")) {
      return "echo was told to take no embedded resources";
    }
    if (part.kind === "audio") return "echo takes no audio";
    if (part.kind === "text") texts.push(part.text);
    parts.push(part.text);
  }
  return { words: texts.at(-1) ?? "", context: texts.slice(0, -1), whole: parts.join("\n") };
}

interface Part {
  readonly kind: string;
  readonly text: string;
}

function partOf(block: JsonObject): Part | null {
  const kind = stringAt(block, "type");
  switch (kind) {
    case "text": {
      const text = stringAt(block, "text");
      return text === null ? null : { kind, text };
    }
    case "image":
    case "audio":
      return { kind, text: `[${kind} ${stringAt(block, "mimeType") ?? "of no type"}]` };
    case "resource_link":
      return { kind, text: `[link ${stringAt(block, "uri") ?? "to nowhere"}]` };
    case "resource": {
      const resource = objectAt(block, "resource") ?? {};
      return { kind, text: `[resource ${stringAt(resource, "uri") ?? "without a name"}]` };
    }
    default:
      return null;
  }
}
