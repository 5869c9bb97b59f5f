import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { clockMs, count, flag, names, open, text } from "./plain-shapes.ts";
import { turn } from "./session-shapes.ts";

const admitted = () => ({ promptId: text(), lastEventId: count(), eventEpoch: text() });

const pendingPrompt = named("PendingPrompt", () =>
  z.object({
    promptId: text(),
    text: text(),
    content: z.array(open()).optional(),
    queuedAt: clockMs(),
    state: z.enum(["running", "queued"]),
    originatorClientId: text().optional(),
    waitsFor: z.looseObject({ code: text() }).nullable(),
  }),
);

const removed = () => z.object({ removed: flag() });

const midTurnMessage = () =>
  z.object({ messageId: text(), text: text(), content: z.array(open()).optional() });

const NO_CREDIT = ["insufficient_credits", "price_unknown"] as const;

const CONTENT = ["invalid_session_attachment_reference", "prompts_too_large"] as const;

export const ABOUT_PROMPTS = {
  send: () => ({
    task: "prompt",
    summary: "Admits a prompt, which gets exactly one verdict on the session's stream.",
    more: "With wait the answer is 200 with the turn if its verdict comes in time, else 202.",
    headers: ["idempotency-key"],
    answers: { 202: z.object(admitted()), 200: z.object({ ...admitted(), turn: turn() }) },
    refusals: [
      ...CONTENT,
      ...NO_CREDIT,
      "invalid_prompt",
      "invalid_deadline_ms",
      "invalid_idempotency_key",
      "idempotency_conflict",
      "prompt_queue_full",
      "prompt_id_conflict",
      "policy_forbids",
      "server_stopping",
      "disk_quota_exceeded",
      "disk_full",
    ],
    example: { body: { prompt: [{ type: "text", text: "say Hello" }] } },
  }),
  cancel: () => ({
    task: "prompt",
    summary: "Cancels the running prompt. Those that wait go on.",
    answers: { 204: null },
    example: {},
  }),
  pending: () => ({
    task: "prompt",
    summary: "Lists the prompts that have no verdict yet: the running one, then those that wait.",
    answers: { 200: z.object({ pendingPrompts: z.array(pendingPrompt()) }) },
    example: {},
  }),
  remove: () => ({
    task: "prompt",
    summary: "Removes a prompt that waits, or cancels the running one.",
    answers: { 200: removed() },
    example: {},
  }),
  sendMidTurn: () => ({
    task: "prompt",
    summary: "Tells the agent something while it works.",
    more: "accepted:false leaves the message with the caller, and reason says why.",
    answers: {
      200: z.object({
        accepted: flag(),
        messageId: text().optional(),
        reason: z
          .enum(["session_idle", "queue_full", "prompts_too_large", "message_id_conflict"])
          .optional(),
      }),
    },
    refusals: [...CONTENT, ...NO_CREDIT, "policy_forbids"],
    example: { body: { message: "Mind the tests" } },
  }),
  listMidTurn: () => ({
    task: "prompt",
    summary: "Lists the messages into turns that wait, and what became of the last ones.",
    answers: {
      200: z.object({
        messages: z.array(midTurnMessage()),
        settledMessageIds: names(),
        promotedMessageIds: names(),
      }),
    },
    example: {},
  }),
  removeMidTurn: () => ({
    task: "prompt",
    summary: "Removes a message that waits as a prompt.",
    answers: { 200: removed() },
    example: {},
  }),
  currentTurn: () => ({
    task: "prompt",
    summary: "Says what the running turn is, or the last one.",
    answers: { 200: turn() },
    example: {},
  }),
  turn: () => ({
    task: "prompt",
    summary: "Says how a prompt stands or how it ended, among the last 64.",
    more: "With wait it answers when the turn has its verdict; 202 says that it has none yet.",
    answers: { 200: turn(), 202: turn() },
    refusals: ["prompt_not_found"],
    example: { query: { wait: "30s" } },
  }),
} satisfies Descriptions;
