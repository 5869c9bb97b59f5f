import { isObject, type JsonObject, objectAt } from "../../core/json.ts";
import { STAGE_RESULT_BYTES_MAX } from "../../core/limits.ts";
import { type DataFault, type PlainData, plainText } from "../plain-data.ts";
import { valueFault } from "../schema.ts";
import type { StageCompletion } from "./contract.ts";

/** The tool of every stage with a completion, and the one field of its input. */
const COMPLETION_TOOL = "complete_stage";
const COMPLETION_FIELD = "result";

type Completed =
  | { readonly result: PlainData; readonly fault?: undefined }
  | { readonly result?: undefined; readonly fault: DataFault };

/** What an agent wants to complete a stage with, if it is an object of the stage's schema. */
export function readCompletion({ schema }: StageCompletion, said: unknown): Completed {
  if (!isObject(said)) return { fault: { path: "", reason: "it must be an object" } };
  const { text, fault } = plainText(said, STAGE_RESULT_BYTES_MAX);
  if (fault !== undefined) return { fault };
  const wrong = valueFault(schema, said);
  return wrong === null ? { result: JSON.parse(text) } : { fault: wrong };
}

/** The last JSON object in a fence, or the whole text, if it completes the stage; null if none. */
export function completionInMessage(completion: StageCompletion, text: string): PlainData {
  const candidates = [text, ...fencesIn(text)].reverse();
  for (const one of candidates) {
    const said = parsed(one.trim());
    const inner = isObject(said) && wraps(completion.schema, said) ? said[COMPLETION_FIELD] : said;
    const { result } = readCompletion(completion, inner);
    if (result !== undefined) return result;
  }
  return null;
}

/** Some agents write down the call that they would make, with its one field. */
function wraps(schema: JsonObject, said: JsonObject): boolean {
  const own = objectAt(schema, "properties") ?? {};
  return Object.keys(said).length === 1 && isObject(said.result) && !Object.hasOwn(own, "result");
}

/** A fence is looked for line by line: a pattern over a text of an agent has no bound. */
function fencesIn(text: string): readonly string[] {
  const found: string[] = [];
  let open: string[] | null = null;
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (!isFence) open?.push(line);
    else if (open === null) open = [];
    else {
      found.push(open.join("\n"));
      open = null;
    }
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an agent with our tools, or one without, is told below a body: how the stage ends. */
export function completionHint(
  { description, schema }: StageCompletion,
  how: "tool" | "message",
): string {
  const what = description === "" ? "" : ` It is to say: ${description}.`;
  const form = JSON.stringify(schema);
  const tool =
    `When you have done, call the tool "${COMPLETION_TOOL}" once, with "${COMPLETION_FIELD}" as ` +
    `an object of this JSON Schema.${what} The stage ends with that call, and not with a text.`;
  const message =
    "When you have done, end your last message with one fenced block of JSON: an object of this " +
    `JSON Schema.${what} The stage ends with that block.`;
  return `${how === "tool" ? tool : message}\n\n${form}`;
}
