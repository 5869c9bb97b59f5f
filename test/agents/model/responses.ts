// OpenAI's responses.

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

/** A tool without a name, which is called in its own way. */
const SEARCH = "tool_search";

function read(body: JsonObject): ModelRequest {
  const format = objectAt(objectAt(body, "text") ?? {}, "format");
  const items =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input;
  return {
    dialect: "responses",
    serial: nextSerial(),
    model: stringAt(body, "model") ?? "",
    system: stringAt(body, "instructions") ?? "",
    messages: objectsIn(items).map(message),
    tools: [...objectsIn(body.tools), ...objectsIn(items).flatMap(foundTools)].flatMap(tool),
    isStream: body.stream === true,
    jsonSchema:
      format === null || format.type === "text" ? null : (objectAt(format, "schema") ?? {}),
  };
}

function message(item: JsonObject): Message {
  const isResult = typeof item.type === "string" && item.type.endsWith("_output");
  if (isResult) return { role: "tool", text: textsIn(item.output ?? item.tools), images: 0 };
  const images = objectsIn(item.content).filter(({ type }) => type === "input_image").length;
  const text = textsIn(item.content);
  if (item.role === "developer" || item.role === "system") return { role: "system", text, images };
  return { role: item.role === "user" ? "user" : "assistant", text, images };
}

/** What a search for tools has found can be called from then on. */
function foundTools(item: JsonObject): readonly JsonObject[] {
  return item.type === "tool_search_output" ? objectsIn(item.tools) : [];
}

function tool(offered: JsonObject): readonly Tool[] {
  const { type, name = type === SEARCH ? SEARCH : undefined, parameters } = offered;
  if (typeof name !== "string") return [];
  if (type === "namespace") {
    return objectsIn(offered.tools)
      .flatMap(tool)
      .map((one) => ({ ...one, namespace: name }));
  }
  if (type === "custom") return [{ name, schema: null }];
  return [{ name, schema: isObject(parameters) ? parameters : {} }];
}

/** An item of the answer as it is when it is complete. */
function item(serial: number, { text, call }: WholeAnswer): object {
  if (call === null) {
    const content = [{ type: "output_text", text, annotations: [] }];
    return {
      id: `msg_${serial}`,
      type: "message",
      role: "assistant",
      status: "completed",
      content,
    };
  }
  const { tool: called, id, input } = call;
  const { name, namespace } = called;
  const place = namespace === undefined ? {} : { namespace };
  const base = { id: `item_${id}`, call_id: id, name, ...place, status: "completed" };
  if (name === SEARCH) {
    return { ...base, type: "tool_search_call", execution: "client", arguments: input };
  }
  if (called.schema === null) return { ...base, type: "custom_tool_call", input: textsIn(input) };
  return { ...base, type: "function_call", arguments: JSON.stringify(input) };
}

function response(request: ModelRequest, output: readonly object[], status: string): object {
  const { model, serial } = request;
  const tokens = tokensOf(request);
  const usage = {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens.input + tokens.output,
  };
  return { id: `resp_${serial}`, object: "response", created_at: 1, status, model, output, usage };
}

function at(serial: number): object {
  return { output_index: 0, content_index: 0, item_id: `msg_${serial}` };
}

/** What comes before the first words: the item that they belong to. */
function openedMessage({ serial }: ModelRequest): string {
  const opened = { id: `msg_${serial}`, type: "message", role: "assistant", status: "in_progress" };
  return (
    named("response.output_item.added", { output_index: 0, item: { ...opened, content: [] } }) +
    named("response.content_part.added", {
      ...at(serial),
      part: { type: "output_text", text: "", annotations: [] },
    })
  );
}

export const RESPONSES: Wire = {
  read,
  begin: (request) => named("response.created", { response: response(request, [], "in_progress") }),
  openText: openedMessage,
  text: ({ serial }, delta) => named("response.output_text.delta", { ...at(serial), delta }),
  call: () => "",
  end: (request, whole) => {
    const done = item(request.serial, whole);
    return (
      named("response.output_item.done", { output_index: 0, item: done }) +
      named("response.completed", { response: response(request, [done], "completed") })
    );
  },
  whole: (request, whole) => response(request, [item(request.serial, whole)], "completed"),
};
