import type { JsonObject } from "../../../src/core/json.ts";
import type { ModelRequest, Tool } from "./request.ts";

/** What was said in the whole answer, for its end and for agents that do not stream. */
export interface WholeAnswer {
  readonly text: string;
  readonly call: { readonly tool: Tool; readonly id: string; readonly input: JsonObject } | null;
}

/** How one dialect reads requests and writes answers. */
export interface Wire {
  readonly read: (body: JsonObject, path: string) => ModelRequest;
  readonly begin: (request: ModelRequest) => string;
  /** What comes before the first words. */
  readonly openText: (request: ModelRequest) => string;
  readonly text: (request: ModelRequest, text: string) => string;
  readonly call: (request: ModelRequest, tool: Tool, id: string, input: JsonObject) => string;
  readonly end: (request: ModelRequest, whole: WholeAnswer) => string;
  /** The answer in one piece. */
  readonly whole: (request: ModelRequest, whole: WholeAnswer) => object;
}

/** A frame of a stream whose events have names. */
export function named(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify({ type: event, ...data })}\n\n`;
}
