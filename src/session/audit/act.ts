/**
 * What the audit is told of beside the events of sessions and what agents do: changes of what is
 * a tenant's, by its people and by operators, and who looked into its agents, which shows what is
 * said in every session. docs/protocol.md has a word for each.
 */
export const CHANGE_ACTS = [
  "token_created",
  "token_rotated",
  "token_revoked",
  "member_set",
  "member_removed",
  "credits_granted",
  "credits_limit_set",
  "credits_budget_set",
  "workspace_added",
  "workspace_trust_set",
  "tenant_settings_set",
  "agents_traced",
  "agent_logs_read",
  "agent_restarted",
  "session_seized",
  "log_cut",
  "restored",
] as const;

export type ChangeAct = (typeof CHANGE_ACTS)[number];

/** What else is told beside events: of sessions as such, and of what agents do in the world. */
export const OTHER_ACTS = [
  "command_refused",
  "checkpoint",
  "session_deleted",
  "fs.read",
  "fs.write",
  "terminal.create",
  "tool_dispatch",
] as const;
