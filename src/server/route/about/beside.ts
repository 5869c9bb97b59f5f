import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { AGENT_FAILURES } from "./begin.ts";
import { clockMs, flag, maybeText, one, text } from "./plain-shapes.ts";

const task = named("Task", () =>
  z.object({
    kind: z.literal("shell"),
    id: text(),
    label: text(),
    description: text(),
    status: text(),
    startTime: clockMs(),
    runtimeMs: z.number(),
    command: text(),
    cwd: text(),
    pid: z.int().optional(),
  }),
);

const child = named("Child", () =>
  z.object({
    childId: text(),
    promptId: maybeText(),
    title: text(),
    agent: text(),
    model: maybeText(),
    startedAtMs: clockMs(),
    endedAtMs: clockMs().nullable(),
    state: z.enum(["Active", "Closed", "Halted", "Aborted"]),
  }),
);

/** A throw-away session of the agent answers, if it can be had and paid for. */
const ASIDE = [...AGENT_FAILURES, "insufficient_credits", "price_unknown"] as const;

export const ABOUT_BESIDE = {
  recap: () => ({
    task: "beside",
    summary: "Has the agent sum up the conversation; null if it cannot.",
    answers: { 200: z.object({ sessionId: text(), recap: maybeText() }) },
    refusals: ASIDE,
    example: {},
  }),
  btw: () => ({
    task: "beside",
    summary: "Asks the agent a question beside the conversation; null if it cannot answer.",
    answers: { 200: z.object({ sessionId: text(), answer: maybeText() }) },
    refusals: ASIDE,
    example: { body: { question: "Which file was that?" } },
  }),
  shell: () => ({
    task: "beside",
    summary: "Runs a command line beside the agent, on a server that lets clients.",
    more: "It ends when its caller leaves. All clients see its output, and so does the agent.",
    headers: ["idempotency-key"],
    answers: {
      200: z.object({ exitCode: z.int().nullable(), output: text(), aborted: flag() }),
    },
    refusals: [
      "session_shell_disabled",
      "client_id_required",
      "shell_limit_exceeded",
      "invalid_idempotency_key",
      "idempotency_conflict",
      "policy_forbids",
    ],
    example: { body: { command: "echo Hello" } },
  }),
  tasks: () => ({
    task: "beside",
    summary: "Lists what runs in the session beside its turns.",
    answers: {
      200: z.object({ v: one(), sessionId: text(), now: clockMs(), tasks: z.array(task()) }),
    },
    example: {},
  }),
  cancelTask: () => ({
    task: "beside",
    summary: "Ends what runs beside the turns.",
    answers: { 200: z.object({ cancelled: flag() }) },
    example: {},
  }),
  children: () => ({
    task: "beside",
    summary: "Lists the child sessions at work, and the last 64 that ended.",
    answers: { 200: z.object({ v: one(), sessionId: text(), children: z.array(child()) }) },
    example: {},
  }),
} satisfies Descriptions;
