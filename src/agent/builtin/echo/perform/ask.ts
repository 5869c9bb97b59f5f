import { isObject, type JsonObject, objectAt, stringAt } from "../../../../core/json.ts";
import { CLIENT_METHODS } from "../../../../wire/acp.ts";
import type { Reply } from "../client-link.ts";
import type { Arguments, AskArguments } from "../language.ts";
import type { Turn } from "../turn.ts";
import { toolCallFacts } from "./news.ts";
import { failureOf } from "./reach.ts";

/** Directives that need a person. */

export async function ask(turn: Turn, args: AskArguments) {
  const toolCallId = args.tool ?? turn.session.nextCallId();
  const facts = { status: "pending", ...toolCallFacts(args, `Permission for ${toolCallId}`) };
  const reply = await turn.ask(CLIENT_METHODS.requestPermission, {
    toolCall: args.tool === null ? { toolCallId, ...facts } : { toolCallId },
    options: args.options.map(optionOf),
  });
  return turn.say(`permission for ${toolCallId}: ${outcomeOf(reply)}\n`);
}

/** `kind`, or `id:kind` where a script wants an id of its own. */
function optionOf(written: string): JsonObject {
  const [optionId = written, kind = optionId] = written.split(":");
  const words = kind.replaceAll("_", " ");
  return { optionId, name: `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`, kind };
}

function outcomeOf(reply: Reply): string {
  if ("error" in reply) return failureOf(reply.error);
  const outcome = (isObject(reply.result) ? objectAt(reply.result, "outcome") : null) ?? {};
  if (outcome.outcome === "cancelled") return "cancelled";
  const optionId = stringAt(outcome, "optionId");
  return optionId === null ? "an answer without an outcome" : `selected ${optionId}`;
}

export async function question(turn: Turn, { field, text }: Arguments["question"]) {
  const answer = turn.stage.link.abilities.hasForms
    ? await byForm(turn, field, text)
    : await byPermission(turn, field, text);
  return turn.say(`${field}: ${answer}\n`);
}

async function byForm(turn: Turn, field: string, text: string): Promise<string> {
  const reply = await turn.ask(CLIENT_METHODS.createElicitation, {
    mode: "form",
    message: text,
    requestedSchema: {
      type: "object",
      properties: { [field]: { type: "string", title: text } },
      required: [field],
    },
  });
  if ("error" in reply) return failureOf(reply.error);
  const result = isObject(reply.result) ? reply.result : {};
  if (result.action !== "accept")
    return stringAt(result, "action") ?? "an answer without an action";
  const content = objectAt(result, "content") ?? {};
  return JSON.stringify(content[field] ?? null);
}

/** The way of agents from before forms: a permission whose input holds the questions. */
async function byPermission(turn: Turn, field: string, text: string): Promise<string> {
  const reply = await turn.ask(CLIENT_METHODS.requestPermission, {
    toolCall: {
      toolCallId: turn.session.nextCallId(),
      title: text,
      kind: "other",
      status: "pending",
      rawInput: { questions: [{ answerKey: field, question: text }] },
    },
    options: [
      { optionId: "answer", name: "Answer", kind: "allow_once" },
      { optionId: "decline", name: "Decline", kind: "reject_once" },
    ],
  });
  const outcome = outcomeOf(reply);
  if (outcome !== "selected answer") return outcome === "selected decline" ? "decline" : outcome;
  const result = "result" in reply && isObject(reply.result) ? reply.result : {};
  return JSON.stringify(objectAt(result, "answers")?.[field] ?? null);
}
