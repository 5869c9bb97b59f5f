import { z } from "zod";
import type { Descriptions } from "../../openapi/description.ts";
import { clockMs, text } from "./plain-shapes.ts";
import { branch, joinedSession, loadedSession, resumedSession } from "./session-shapes.ts";

/** Failures of an agent that is to come up for the request. */
const AGENT_FAILURES = [
  "agent_command_missing",
  "agent_command_forbidden",
  "agent_user_access",
  "agent_exited_early",
  "agent_not_speaking",
  "agent_start_timeout",
  "agent_protocol_version",
  "agent_auth_required",
  "agent_secret_missing",
  "agent_secret_unusable",
  "agent_home_unusable",
  "agent_call_timeout",
  "agent_call_failed",
  "agent_gone",
  "agent_connect_aborted",
  "agent_busy",
  "agent_capacity",
  "agent_breaker_open",
] as const;

const NEW_SESSION = [
  "invalid_session_scope",
  "invalid_approval_mode",
  "invalid_session_id",
  "invalid_session_name",
  "session_name_taken",
  "invalid_session_source",
  "agent_unknown",
  "invalid_allowlist",
  "invalid_amount",
  "invalid_manifest",
  "workspace_mismatch",
  "untrusted_workspace",
  "trust_gate",
  "policy_forbids",
  "session_id_conflict",
  "session_limit_exceeded",
  "disk_quota_exceeded",
  "disk_full",
] as const;

const RESTORE = [
  "invalid_approval_mode",
  "workspace_mismatch",
  "untrusted_workspace",
  "policy_forbids",
  "trust_gate",
  "session_limit_exceeded",
  "session_restore_timeout",
] as const;

export { AGENT_FAILURES, NEW_SESSION };

export const ABOUT_BEGIN = {
  create: () => ({
    task: "begin",
    summary: "Creates a session, or joins the one that its workspace shares.",
    more: "With attached:false the agent is ready by then. The answer has the client's id in it.",
    headers: ["idempotency-key"],
    answers: { 200: joinedSession() },
    refusals: [
      ...NEW_SESSION,
      ...AGENT_FAILURES,
      "session_setting_conflict",
      "invalid_idempotency_key",
      "idempotency_conflict",
    ],
    example: { body: { sessionScope: "thread", agent: "echo" } },
  }),
  load: () => ({
    task: "begin",
    summary: "Joins a session and answers with what has happened in it.",
    more: "Brings back a closed one. Finished turns are folded, the open one is nearly as it was.",
    answers: { 200: loadedSession() },
    refusals: [...RESTORE, "invalid_transcript_limit", "invalid_live_replay_mode"],
    example: { body: { historyPageSize: 20 } },
  }),
  resume: () => ({
    task: "begin",
    summary: "Joins a session whose history the client has.",
    answers: { 200: resumedSession() },
    refusals: RESTORE,
    example: { body: {} },
  }),
  branch: () => ({
    task: "begin",
    summary: "Makes a session that goes on from a finished turn of this one, and joins it.",
    answers: { 201: branch() },
    refusals: [
      "branch_while_prompt_active",
      "branch_point_invalid",
      "invalid_metadata",
      "policy_forbids",
      "disk_quota_exceeded",
    ],
    example: { body: { name: "Another way" } },
  }),
  heartbeat: () => ({
    task: "begin",
    summary: "Says that the client is still there, which keeps the session from being evicted.",
    answers: {
      200: z.object({ sessionId: text(), clientId: text().optional(), lastSeenAt: clockMs() }),
    },
    example: {},
  }),
  detach: () => ({
    task: "begin",
    summary: "Takes the client out of the session; of any client and session.",
    answers: { 204: null },
    example: {},
  }),
  close: () => ({
    task: "begin",
    summary: "Ends the session for all its clients. It stays stored, and load brings it back.",
    answers: { 204: null },
    example: {},
  }),
} satisfies Descriptions;
