import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { FORM_CHOICE_COMMAS_MAX } from "../../core/limits.ts";
import type { AskOption } from "../../core/policy/ask.ts";
import type { AgentAsk, AskAnswer } from "../agent.ts";

/** Forms of an agent as questions, in the shape that clients know from agents' question tools. */

/** Each field is a question, and the options of the ask are to answer or to decline. */
export function formAsk(params: JsonObject, toolCallId: string): AgentAsk {
  const title = stringAt(params, "message") ?? "";
  const fields = new Map(Object.entries(fieldsOf(params)));
  const asked = [...fields].filter(([key]) => ownerOf(key, fields) === null);
  const isOne = asked.length === 1;
  const questions = asked.map(([answerKey, field]) => {
    return { answerKey, ...questionOf(answerKey, asSchema(field), isOne ? title : "") };
  });
  const toolCall = { toolCallId, title, kind: "other", rawInput: { questions } };
  return { kind: "user_question", toolCall, known: {}, options: FORM_OPTIONS };
}

export const ACCEPT = "accept";

const FORM_OPTIONS: readonly AskOption[] = [
  { optionId: ACCEPT, name: "Answer", kind: "allow_once" },
  { optionId: "decline", name: "Decline", kind: "reject_once" },
];

export function formAnswer(params: JsonObject, { outcome, answers = {} }: AskAnswer) {
  if (outcome.outcome === "cancelled") return { action: "cancel" };
  if (outcome.optionId !== ACCEPT) return { action: "decline" };
  const fields = new Map(Object.entries(fieldsOf(params)));
  const content: JsonObject = {};
  for (const [key, text] of Object.entries(answers))
    Object.assign(content, filled(key, text, fields));
  return { action: "accept", content };
}

type FormFields = ReadonlyMap<string, unknown>;

function fieldsOf(params: JsonObject): JsonObject {
  return objectAt(objectAt(params, "requestedSchema") ?? {}, "properties") ?? {};
}

function asSchema(field: unknown): JsonObject {
  return isObject(field) ? field : {};
}

/**
 * The words of one field. Agents have the real question in the description, and a short header in
 * the title; a form about one thing has the question in its message.
 */
function questionOf(key: string, schema: JsonObject, message: string): JsonObject {
  const title = stringAt(schema, "title");
  const question = [stringAt(schema, "description"), message, title].find(Boolean) ?? key;
  const choices = choicesOf(schema);
  const options = choices.map(({ label, description }) => {
    return { label, ...(description && { description }) };
  });
  return {
    ...(title && title !== question && { header: title }),
    question,
    ...(options.length > 0 && { options, multiSelect: schema.type === "array" }),
    schema,
  };
}

/** The field whose own answer this one is the free text for; null for any other field. */
function ownerOf(key: string, fields: FormFields): string | null {
  const owner = key.endsWith(FREE_TEXT) ? key.slice(0, -FREE_TEXT.length) : "";
  const isFree = choicesOf(asSchema(fields.get(key))).length === 0;
  return isFree && choicesOf(asSchema(fields.get(owner))).length > 0 ? owner : null;
}

/** Claude Code's suffix. Clients of question tools offer an answer of one's own by themselves. */
const FREE_TEXT = "_custom";

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description: string | null;
}

/** Of one or of several; a boolean is a choice too. */
function choicesOf(schema: JsonObject): readonly Choice[] {
  if (schema.type === "boolean") return YES_OR_NO;
  const from = schema.type === "array" ? asSchema(schema.items) : schema;
  const titled = [from.oneOf, from.anyOf].find(Array.isArray) ?? [];
  const named = titled.filter(isObject).flatMap((one): readonly Choice[] => {
    const value = stringAt(one, "const");
    if (value === null) return [];
    return [
      { value, label: stringAt(one, "title") ?? value, description: stringAt(one, "description") },
    ];
  });
  if (named.length > 0 || !Array.isArray(from.enum)) return named;
  const words = from.enum.filter((word) => typeof word === "string");
  return words.map((value) => ({ value, label: value, description: null }));
}

const YES_OR_NO: readonly Choice[] = [
  { value: "true", label: "Yes", description: null },
  { value: "false", label: "No", description: null },
];

/** People answer with text; a form may want a number, a boolean, a choice or several. */
function filled(key: string, text: string, fields: FormFields): JsonObject {
  const schema = asSchema(fields.get(key));
  const { type } = schema;
  if (type === "boolean") return { [key]: /^\s*(true|yes)\s*$/i.test(text) };
  if (type === "number" || type === "integer") {
    const isNumber = text.trim() !== "" && Number.isFinite(Number(text));
    return { [key]: isNumber ? Number(text) : text };
  }
  const values = valuesOf(schema);
  const freeKey = values.size > 0 && fields.has(key + FREE_TEXT) ? key + FREE_TEXT : null;
  if (type === "array") return pickedSeveral(key, text, values, freeKey);
  const value = values.get(text.trim()) ?? null;
  if (value === null && freeKey !== null) return text === "" ? {} : { [freeKey]: text };
  return { [key]: value ?? text };
}

/** The value of each choice, by that value and by the label that people see. */
function valuesOf(schema: JsonObject): ReadonlyMap<string, string> {
  const choices = choicesOf(schema);
  const labels = choices.map(({ label, value }) => [label, value] as const);
  return new Map([...labels, ...choices.map(({ value }) => [value, value] as const)]);
}

/** What is none of the choices is free text, where the form has a field for that. */
function pickedSeveral(
  key: string,
  text: string,
  values: ReadonlyMap<string, string>,
  freeKey: string | null,
): JsonObject {
  const parts = partsOf(text, values);
  if (freeKey === null) return { [key]: parts.map((part) => values.get(part) ?? part) };
  const picked = parts.flatMap((part) => values.get(part) ?? []);
  const free = parts.filter((part) => !values.has(part));
  return { [key]: picked, ...(free.length > 0 && { [freeKey]: free.join(", ") }) };
}

/** The parts between commas, or a JSON list. A comma inside of a choice does not divide it. */
function partsOf(text: string, values: ReadonlyMap<string, string>): readonly string[] {
  const list = listIn(text);
  if (list !== null) return list;
  const pieces = text.split(",");
  const commas = Math.max(0, ...[...values.keys()].map((choice) => choice.split(",").length - 1));
  const longest = 1 + Math.min(commas, FORM_CHOICE_COMMAS_MAX);
  const parts: string[] = [];
  for (let at = 0; at < pieces.length; ) {
    let end = Math.min(pieces.length, at + longest);
    while (end > at + 1 && !values.has(joined(pieces, at, end))) end -= 1;
    parts.push(joined(pieces, at, end));
    at = end;
  }
  return parts.filter((part) => part !== "");
}

function joined(pieces: readonly string[], at: number, end: number): string {
  return pieces.slice(at, end).join(",").trim();
}

function listIn(text: string): readonly string[] | null {
  if (!text.startsWith("[")) return null;
  try {
    const list: unknown = JSON.parse(text);
    const isList = Array.isArray(list) && list.every((one) => typeof one === "string");
    return isList ? list : null;
  } catch {
    return null;
  }
}
