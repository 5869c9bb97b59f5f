// What an agent sends to its model, in one form for all four dialects.

import { isObject, type JsonObject } from "../../../src/core/json.ts";

type Dialect = "chat" | "responses" | "anthropic" | "gemini";

export interface Message {
  readonly role: "user" | "assistant" | "tool" | "system";
  readonly text: string;
  readonly images: number;
}

/** A tool as the agent offers it. */
export interface Tool {
  readonly name: string;
  /** A JSON schema of an object; null for a tool that takes plain text. */
  readonly schema: JsonObject | null;
  /** What it belongs to, where an agent's model has to say so when it calls it. */
  readonly namespace?: string;
}

export interface ModelRequest {
  readonly dialect: Dialect;
  /** Agents take messages of the same id for one. */
  readonly serial: number;
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly isStream: boolean;
  /** The agent wants JSON of this schema, as for titles, routers and reviewers; else null. */
  readonly jsonSchema: JsonObject | null;
}

/** What a model answers: words, or one call of a tool. */
export type Answer =
  | { readonly kind: "say"; readonly chunks: readonly string[]; readonly pauseMs: number }
  | { readonly kind: "call"; readonly tool: Tool; readonly input: JsonObject };

/** The tokens of one call: no two neighbours are alike, so that no figure can stand for another. */
export function tokensOf({ serial }: Pick<ModelRequest, "serial">) {
  return { input: 1_000 + (serial % 10), output: 10 + (serial % 3) };
}

export function nextSerial(): number {
  serial += 1;
  return serial;
}

let serial = 0;

export function said(...chunks: readonly string[]): Answer {
  return { kind: "say", chunks, pauseMs: 0 };
}

/** The objects of a list that came from outside. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** All texts below a value, joined: for parts whose form differs from agent to agent. */
export function textsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textsIn).join("\n");
  if (!isObject(value)) return "";
  return Object.entries(value)
    .filter(([key]) => key !== "type" && key !== "data" && key !== "image_url")
    .map(([, inner]) => textsIn(inner))
    .join("\n");
}

/** Everything that the model can read in it. */
export function inputOf({ system, messages }: ModelRequest): string {
  return [system, ...messages.map(({ text }) => text)].join("\n");
}
