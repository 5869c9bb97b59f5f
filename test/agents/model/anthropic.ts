// Anthropic's messages.

import { isObject, type JsonObject, objectAt, stringAt } from "../../../src/core/json.ts";
import {
  type Message,
  type ModelRequest,
  nextSerial,
  objectsIn,
  type Tool,
  textsIn,
  tokensOf,
} from "./request.ts";
import { named, type WholeAnswer, type Wire } from "./wire.ts";

function read(body: JsonObject): ModelRequest {
  return {
    dialect: "anthropic",
    serial: nextSerial(),
    model: stringAt(body, "model") ?? "",
    system: textsIn(body.system),
    messages: objectsIn(body.messages).flatMap(messages),
    tools: objectsIn(body.tools).flatMap(tool),
    isStream: body.stream === true,
    jsonSchema: objectAt(objectAt(body, "output_config") ?? {}, "format") === null ? null : {},
  };
}

/** Results of tools stand among the words of the user there. */
function messages({ role, content }: JsonObject): readonly Message[] {
  const known = role === "assistant" ? "assistant" : "user";
  if (typeof content === "string") return [{ role: known, text: content, images: 0 }];
  const parts = objectsIn(content);
  const results = parts.filter(({ type }) => type === "tool_result");
  const rest = parts.filter(({ type }) => type !== "tool_result");
  const images = rest.filter(({ type }) => type === "image").length;
  const words = rest.filter(({ type }) => type !== "tool_use" && type !== "image");
  return [
    ...results.map((one) => ({ role: "tool" as const, text: textsIn(one.content), images: 0 })),
    ...(rest.length === 0 ? [] : [{ role: known, text: textsIn(words), images } as const]),
  ];
}

function tool({ name, input_schema: schema }: JsonObject): readonly Tool[] {
  if (typeof name !== "string") return [];
  return [{ name, schema: isObject(schema) ? schema : {} }];
}

function usageOf(request: ModelRequest) {
  const { input, output } = tokensOf(request);
  return { input_tokens: input, output_tokens: output };
}

function blocks({ text, call }: WholeAnswer): readonly object[] {
  const words = text === "" ? [] : [{ type: "text", text }];
  if (call === null) return words;
  return [...words, { type: "tool_use", id: call.id, name: call.tool.name, input: call.input }];
}

function shell({ model, serial }: ModelRequest): JsonObject {
  const stop = { stop_reason: null, stop_sequence: null };
  return { id: `msg_${serial}`, type: "message", role: "assistant", model, content: [], ...stop };
}

function block(opened: object, delta: object): string {
  return (
    named("content_block_start", { index: 0, content_block: opened }) +
    named("content_block_delta", { index: 0, delta })
  );
}

/** What comes before the first words: the block that they belong to. */
function openedText(): string {
  return named("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
}

export const ANTHROPIC: Wire = {
  read,
  begin: (request) =>
    named("message_start", { message: { ...shell(request), usage: usageOf(request) } }),
  openText: openedText,
  text: (_, text) =>
    named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  call: (_, { name }, id, input) =>
    block(
      { type: "tool_use", id, name, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(input) },
    ),
  end: (request, { call }) => {
    const { output } = tokensOf(request);
    const stop = { stop_reason: call === null ? "end_turn" : "tool_use", stop_sequence: null };
    return (
      named("content_block_stop", { index: 0 }) +
      named("message_delta", { delta: stop, usage: { output_tokens: output } }) +
      named("message_stop", {})
    );
  },
  whole: (request, whole) => ({
    ...shell(request),
    content: blocks(whole),
    stop_reason: whole.call === null ? "end_turn" : "tool_use",
    usage: usageOf(request),
  }),
};
