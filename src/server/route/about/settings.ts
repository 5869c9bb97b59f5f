import { z } from "zod";
import { SANDBOX_STATES } from "../../../core/turn.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { AGENT_FAILURES } from "./begin.ts";
import { maybeText, names, nothing, open, text } from "./plain-shapes.ts";
import { autonomy, mode, reloaded, sharing } from "./session-shapes.ts";

/** Where the agent itself has to take the setting. */
const BY_AGENT = [...AGENT_FAILURES, "agent_choice_unknown", "agent_unsupported"] as const;

export const ABOUT_SETTINGS = {
  rename: () => ({
    task: "set",
    summary: "Gives the session a display name, which an empty one removes, or a name.",
    answers: {
      200: z.object({
        sessionId: text(),
        displayName: text().optional(),
        name: text().optional(),
      }),
    },
    refusals: ["invalid_metadata", "invalid_session_name", "session_name_taken"],
    example: { body: { displayName: "Repair the build", name: "repair-the-build" } },
  }),
  model: () => ({
    task: "set",
    summary: "Sets the model and its settings, all of them or none.",
    answers: { 200: nothing() },
    refusals: [...BY_AGENT, "model_switch_failed", "agent_setting_refused", "policy_forbids"],
    example: { body: { modelId: "echo-large" } },
  }),
  agent: () => ({
    task: "set",
    summary: "Changes the session's agent, as /agent does; not during a turn.",
    answers: { 200: z.object({ from: text(), to: text() }) },
    refusals: [...AGENT_FAILURES, "agent_unknown", "session_busy", "policy_forbids"],
    example: { body: { agent: "echo" } },
  }),
  agentMode: () => ({
    task: "set",
    summary: "Chooses a mode of the agent's own from the next turn on; null is its default.",
    answers: { 200: z.object({ sessionId: text(), mode: maybeText(), previous: maybeText() }) },
    refusals: [...BY_AGENT, "policy_forbids"],
    example: { body: { mode: "plan" } },
  }),
  configOption: () => ({
    task: "set",
    summary: "Sets an option of the agent's own, as context lists them.",
    answers: {
      200: z.object({ configOptions: z.array(open()), persisted: z.literal(false) }),
    },
    refusals: [
      ...BY_AGENT,
      "invalid_persist_flag",
      "model_switch_failed",
      "agent_setting_refused",
      "policy_forbids",
    ],
    example: { body: { configId: "model", value: "echo-large" } },
  }),
  approvalMode: () => ({
    task: "set",
    summary: "Sets how much the session approves unasked, in the wire's five words.",
    answers: {
      200: z.object({
        sessionId: text(),
        mode: mode(),
        previous: mode(),
        persisted: z.literal(false),
      }),
    },
    refusals: ["invalid_approval_mode", "invalid_persist_flag", "trust_gate", "policy_forbids"],
    example: { body: { mode: "auto-edit" } },
  }),
  autonomy: () => ({
    task: "set",
    summary: "Sets the highest risk that the session approves unasked.",
    answers: {
      200: z.object({ sessionId: text(), profile: autonomy(), previous: autonomy() }),
    },
    refusals: ["policy_forbids", "trust_gate"],
    example: { body: { profile: "balanced" } },
  }),
  visibility: () => ({
    task: "set",
    summary: "Says who sees the session.",
    answers: { 200: sharing() },
    example: {},
  }),
  share: () => ({
    task: "set",
    summary: "Sets who sees the session; for its creator and owners.",
    answers: { 200: sharing() },
    refusals: ["sharing_forbidden"],
    example: { body: { visibility: "private", sharedWith: ["ada"] } },
  }),
  sandbox: () => ({
    task: "set",
    summary: "Records the state of the sandbox that the session's operator runs.",
    answers: {
      200: z.object({
        sessionId: text(),
        state: z.enum(SANDBOX_STATES),
        previous: z.enum(SANDBOX_STATES),
      }),
    },
    example: { body: { state: "ready" } },
  }),
  reloadSkills: () => ({
    task: "set",
    summary: "Reads the skill files again; not during a turn.",
    answers: { 200: reloaded() },
    refusals: ["session_busy", "skills_unavailable"],
    example: {},
  }),
  reloadPersona: () => ({
    task: "set",
    summary: "Reads the persona files again; not during a turn.",
    answers: { 200: reloaded() },
    refusals: ["session_busy"],
    example: {},
  }),
  reloadExtensions: () => ({
    task: "set",
    summary: "Replaces the session's extensions by those that its operator trusts by now.",
    answers: {
      200: z.object({
        reloaded: names(),
        waiting: names(),
        kept: z.array(z.unknown()),
        skipped: z.array(z.unknown()),
      }),
    },
    example: {},
  }),
} satisfies Descriptions;
