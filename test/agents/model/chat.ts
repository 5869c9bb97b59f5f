// OpenAI's chat completions.

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
import type { Wire } from "./wire.ts";

function read(body: JsonObject): ModelRequest {
  const all = objectsIn(body.messages);
  const isSystem = ({ role }: JsonObject) => role === "system" || role === "developer";
  return {
    dialect: "chat",
    serial: nextSerial(),
    model: stringAt(body, "model") ?? "",
    system: all
      .filter(isSystem)
      .map(({ content }) => textsIn(content))
      .join("\n"),
    messages: all.filter((one) => !isSystem(one)).map(message),
    tools: objectsIn(body.tools).flatMap(tool),
    isStream: body.stream === true,
    jsonSchema: schemaIn(objectAt(body, "response_format")),
  };
}

/** Of an answer that has to be JSON; an empty one if the agent does not say which. */
function schemaIn(format: JsonObject | null): JsonObject | null {
  if (format === null || format.type === "text") return null;
  return objectAt(objectAt(format, "json_schema") ?? {}, "schema") ?? {};
}

function message({ role, content }: JsonObject): Message {
  const images = objectsIn(content).filter(({ type }) => type === "image_url").length;
  const known = role === "assistant" || role === "tool" ? role : "user";
  return { role: known, text: textsIn(content), images };
}

function tool(offered: JsonObject): readonly Tool[] {
  const { name, parameters } = objectAt(offered, "function") ?? {};
  if (typeof name !== "string") return [];
  return [{ name, schema: isObject(parameters) ? parameters : {} }];
}

function usageOf(request: ModelRequest) {
  const { input, output } = tokensOf(request);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function headOf(serial: number) {
  return { id: `chat-${serial}`, object: "chat.completion.chunk", created: 1 };
}

function chunk(
  { model, serial }: ModelRequest,
  delta: object,
  finish: string | null = null,
): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const frame = { ...headOf(serial), model, choices };
  return `data: ${JSON.stringify(frame)}\n\n`;
}

function calls(name: string, id: string, input: object) {
  return [{ index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } }];
}

export const CHAT: Wire = {
  read,
  begin: (request) => chunk(request, { role: "assistant", content: "" }),
  openText: () => "",
  text: (request, text) => chunk(request, { content: text }),
  call: (request, { name }, id, input) => chunk(request, { tool_calls: calls(name, id, input) }),
  end: (request, whole) => {
    const finish = whole.call === null ? "stop" : "tool_calls";
    const frame = { ...headOf(request.serial), model: request.model };
    const usage = `data: ${JSON.stringify({ ...frame, choices: [], usage: usageOf(request) })}\n\n`;
    return `${chunk(request, {}, finish)}${usage}data: [DONE]\n\n`;
  },
  whole: (request, { text, call }) => ({
    id: `chat-${request.serial}`,
    object: "chat.completion",
    created: 1,
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          ...(call === null ? {} : { tool_calls: calls(call.tool.name, call.id, call.input) }),
        },
        finish_reason: call === null ? "stop" : "tool_calls",
      },
    ],
    usage: usageOf(request),
  }),
};
