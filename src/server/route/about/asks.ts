import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { flag, maybeText, maybeTime, names, nothing, one, text, time } from "./plain-shapes.ts";
import { autonomy, listedAsk, mode } from "./session-shapes.ts";

const VOTE = ["ask_not_found", "ask_already_resolved", "invalid_option_id"] as const;

const vote = { outcome: { outcome: "selected", optionId: "allow_once" } };

const securityMode = () => z.enum(["ask", "allowlist", "yolo"]);

const approvals = named("Approvals", () =>
  z.object({
    v: one(),
    sessionId: text(),
    securityMode: securityMode(),
    allowlist: names(),
    approvalMode: mode(),
    autonomy: autonomy(),
    agentMode: z.object({ chosen: maybeText(), observed: maybeText() }),
    asking: z.object({ how: text(), sentence: text() }),
    plan: z.object({ agent: text(), note: text() }).nullable(),
    tiers: z.array(z.object({ tier: text(), rule: z.enum(["allow", "ask", "allowlist"]) })),
    grants: z.array(
      z.object({
        key: text(),
        tier: text(),
        since: time().optional(),
        clientId: text().optional(),
        userId: text().optional(),
      }),
    ),
    asks: z.array(
      z.object({
        requestId: text(),
        kind: text(),
        tier: text().nullable(),
        title: maybeText(),
        since: time(),
        deadline: maybeTime(),
        owners: z.unknown().optional(),
      }),
    ),
    sandbox: z.object({
      state: text(),
      provisionedAt: maybeTime(),
      lastActivityAt: maybeTime(),
    }),
    yours: z.object({ securityMode: securityMode(), autonomy: autonomy(), selfApproval: flag() }),
  }),
);

export const ABOUT_ASKS = {
  list: () => ({
    task: "answer",
    summary: "Lists what waits for a person in all sessions that the caller sees, oldest first.",
    answers: { 200: z.object({ asks: z.array(listedAsk()), nextCursor: text().optional() }) },
    refusals: ["invalid_cursor"],
    example: { query: { size: "10" } },
  }),
  vote: () => ({
    task: "answer",
    summary: "Votes on an open ask of this session.",
    answers: { 200: nothing() },
    refusals: [...VOTE, "permission_forbidden", "invalid_client_id"],
    headers: ["x-qwen-client-id"],
    example: { body: vote },
  }),
  voteByAsk: () => ({
    task: "answer",
    summary: "Votes on an open ask of any session; the answer does not name the session.",
    answers: { 200: nothing() },
    refusals: [...VOTE, "permission_forbidden", "invalid_client_id"],
    headers: ["x-qwen-client-id"],
    example: { body: vote },
  }),
  approvals: () => ({
    task: "answer",
    summary: "Says what may happen unasked, what was granted and what is asked just now.",
    answers: { 200: approvals() },
    example: {},
  }),
  revokeAll: () => ({
    task: "answer",
    summary: "Revokes all grants: the next such calls are asked again.",
    answers: { 204: null },
    example: {},
  }),
  revoke: () => ({
    task: "answer",
    summary: "Revokes one grant, by its key as approvals has it.",
    answers: { 204: null },
    refusals: ["grant_not_found"],
    example: {},
  }),
} satisfies Descriptions;
