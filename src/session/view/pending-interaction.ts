import type { AskId } from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import type { Ask, AskOption } from "../../core/policy/ask.ts";
import type { Session } from "../../core/session/state.ts";

interface Option {
  readonly optionId: string;
  readonly label?: string;
  readonly kind?: string;
}

interface InteractionBase {
  readonly requestId: AskId;
  readonly createdAt: string;
  readonly options: readonly Option[];
}

/** Something that people have yet to answer, as lists show it (wire, 4.2). */
export type PendingInteraction =
  | (InteractionBase & { readonly kind: "permission"; readonly action: JsonObject })
  | (InteractionBase & {
      readonly kind: "user_question";
      readonly title?: string;
      readonly questions: readonly JsonObject[];
    });

export function pendingInteractions({ connection }: Session): readonly PendingInteraction[] {
  return [...connection.turn.openAsks.values()].map(interactionOf);
}

function interactionOf(ask: Ask): PendingInteraction {
  const { requestId, toolCall } = ask;
  const createdAt = new Date(ask.askedAtMs).toISOString();
  const base = { requestId, createdAt, options: ask.options.map(optionOf) };
  if (ask.kind === "permission") return { ...base, kind: "permission", action: actionOf(toolCall) };
  const title = stringAt(toolCall, "title");
  const questions = questionsOf(toolCall);
  return { ...base, kind: "user_question", ...(title && { title }), questions };
}

function optionOf(option: AskOption): Option {
  const label = stringAt(option, "name");
  const kind = stringAt(option, "kind");
  return { optionId: option.optionId, ...(label && { label }), ...(kind && { kind }) };
}

function actionOf({ kind, title, content, locations, rawInput }: JsonObject): JsonObject {
  const action = { type: kind, title, content, locations, input: rawInput };
  return withoutNulls(action);
}

/** Agents that give their questions no keys number the answers. */
function questionsOf(toolCall: JsonObject): readonly JsonObject[] {
  const questions = objectAt(toolCall, "rawInput")?.questions;
  if (!Array.isArray(questions)) return [];
  return questions.map((question, index) => {
    const about = isObject(question) ? question : {};
    return { ...about, answerKey: stringAt(about, "answerKey") ?? `${index}` };
  });
}
