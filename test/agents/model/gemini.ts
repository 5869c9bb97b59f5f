// Gemini's generateContent and streamGenerateContent.

import { isObject, type JsonObject, objectAt } from "../../../src/core/json.ts";
import {
  type Message,
  type ModelRequest,
  nextSerial,
  objectsIn,
  type Tool,
  textsIn,
  tokensOf,
} from "./request.ts";
import type { WholeAnswer, Wire } from "./wire.ts";

function read(body: JsonObject, path: string): ModelRequest {
  const [, model = "", verb = ""] = /\/models\/([^:/]+):(\w+)/.exec(path) ?? [];
  const config = objectAt(body, "generationConfig") ?? {};
  return {
    dialect: "gemini",
    serial: nextSerial(),
    model,
    system: textsIn(body.systemInstruction),
    messages: objectsIn(body.contents).flatMap(messages),
    tools: objectsIn(body.tools).flatMap(({ functionDeclarations }) => {
      return objectsIn(functionDeclarations).flatMap(tool);
    }),
    isStream: verb === "streamGenerateContent",
    jsonSchema:
      config.responseMimeType === "application/json"
        ? (objectAt(config, "responseJsonSchema") ?? objectAt(config, "responseSchema") ?? {})
        : null,
  };
}

function messages({ role, parts }: JsonObject): readonly Message[] {
  const all = objectsIn(parts);
  const results = all.filter((part) => isObject(part.functionResponse));
  const rest = all.filter((part) => !isObject(part.functionResponse));
  const isImage = ({ inlineData, fileData }: JsonObject) => isObject(inlineData ?? fileData);
  const words = rest.filter((part) => !isImage(part) && !isObject(part.functionCall));
  const known = role === "model" ? "assistant" : "user";
  return [
    ...results.map((part) => {
      return { role: "tool" as const, text: textsIn(part.functionResponse), images: 0 };
    }),
    ...(rest.length === 0
      ? []
      : [{ role: known, text: textsIn(words), images: rest.filter(isImage).length } as const]),
  ];
}

function tool(declared: JsonObject): readonly Tool[] {
  const { name, parametersJsonSchema, parameters } = declared;
  const schema = parametersJsonSchema ?? parameters;
  if (typeof name !== "string") return [];
  return [{ name, schema: isObject(schema) ? schema : {} }];
}

function frame(request: ModelRequest, parts: readonly object[], finish?: string): object {
  const { model, serial } = request;
  const content = { role: "model", parts };
  const { input, output } = tokensOf(request);
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
  const candidate = {
    index: 0,
    content,
    ...(finish === undefined ? {} : { finishReason: finish }),
  };
  return {
    candidates: [candidate],
    modelVersion: model,
    responseId: `response-${serial}`,
    usageMetadata,
  };
}

function parts({ text, call }: WholeAnswer): readonly object[] {
  const words = text === "" ? [] : [{ text }];
  if (call === null) return words;
  return [...words, { functionCall: { id: call.id, name: call.tool.name, args: call.input } }];
}

export const GEMINI: Wire = {
  read,
  begin: () => "",
  openText: () => "",
  text: (request, text) => `data: ${JSON.stringify(frame(request, [{ text }]))}\n\n`,
  call: (request, called, id, input) => {
    const all = parts({ text: "", call: { tool: called, id, input } });
    return `data: ${JSON.stringify(frame(request, all))}\n\n`;
  },
  end: (request) => `data: ${JSON.stringify(frame(request, [{ text: "" }], "STOP"))}\n\n`,
  whole: (request, whole) => frame(request, parts(whole), "STOP"),
};
