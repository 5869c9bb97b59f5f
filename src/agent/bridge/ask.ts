import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import type { AskOption } from "../../core/policy/ask.ts";
import type { AgentAsk, AskAnswer } from "../agent.ts";
import type { KnownToolCalls } from "./tool-calls.ts";

/** What an agent asks of people, in both forms that ACP has, as one kind of thing. */

export function permissionAsk(params: JsonObject, calls: KnownToolCalls): AgentAsk {
  const toolCall = objectAt(params, "toolCall") ?? {};
  const known = calls.get(stringAt(toolCall, "toolCallId"));
  const input = objectAt({ ...known, ...toolCall }, "rawInput") ?? {};
  const kind = Array.isArray(input.questions) ? "user_question" : "permission";
  return { kind, toolCall, known, options: readOptions(params.options) };
}

function readOptions(options: unknown): readonly AskOption[] {
  if (!Array.isArray(options)) return [];
  return options.filter(isObject).map((option) => {
    return { ...option, optionId: stringAt(option, "optionId") ?? "" };
  });
}

export function permissionAnswer({ outcome, answers }: AskAnswer): JsonObject {
  return answers === undefined ? { outcome } : { outcome, answers };
}

/** A form: each of its fields is a question, and to answer it or not are the two options. */
export function elicitationAsk(params: JsonObject, toolCallId: string): AgentAsk {
  const title = stringAt(params, "message") ?? "";
  const questions = Object.entries(fieldsOf(params)).map(([answerKey, field]) => {
    const about = isObject(field) ? field : {};
    const question = stringAt(about, "title") ?? stringAt(about, "description") ?? answerKey;
    return { answerKey, question, schema: about };
  });
  const toolCall = { toolCallId, title, kind: "other", rawInput: { questions } };
  return { kind: "user_question", toolCall, known: {}, options: FORM_OPTIONS };
}

const ACCEPT = "accept";
const FORM_OPTIONS: readonly AskOption[] = [
  { optionId: ACCEPT, name: "Answer", kind: "allow_once" },
  { optionId: "decline", name: "Decline", kind: "reject_once" },
];

export function elicitationAnswer(params: JsonObject, { outcome, answers = {} }: AskAnswer) {
  if (outcome.outcome === "cancelled") return { action: "cancel" };
  if (outcome.optionId !== ACCEPT) return { action: "decline" };
  const fields = fieldsOf(params);
  const content = Object.entries(answers).map(([key, text]) => [key, typed(text, fields[key])]);
  return { action: "accept", content: Object.fromEntries(content) };
}

function fieldsOf(params: JsonObject): JsonObject {
  return objectAt(objectAt(params, "requestedSchema") ?? {}, "properties") ?? {};
}

/** People answer in words; a form may want a number, a yes or a choice of several. */
function typed(text: string, field: unknown): string | number | boolean | readonly string[] {
  const type = isObject(field) ? field.type : null;
  if (type === "boolean") return text === "true" || text === "yes";
  if (type === "array") return text === "" ? [] : text.split(",").map((one) => one.trim());
  const isNumber = type === "number" || type === "integer";
  return isNumber && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
