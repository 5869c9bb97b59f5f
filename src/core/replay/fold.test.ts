import { describe, expect, it } from "vitest";
import { EVENT_TYPES, FOLD, type Fold, isEventType, updateFold } from "./fold.ts";

const folding = (fold: Fold) => EVENT_TYPES.filter((type) => FOLD[type] === fold).toSorted();

describe("the fold table of events", () => {
  it("closes a turn with either verdict, and with nothing else", () => {
    expect(folding("boundary")).toEqual(["turn_complete", "turn_error"]);
  });

  it("drops what meant something only to those who were there", () => {
    expect(folding("drop")).toEqual([
      "client_attached",
      "client_detached",
      "client_expired",
      "credits_reserved",
      "credits_waiting",
      "permission_already_resolved",
      "permission_forbidden",
      "permission_partial_vote",
      "permission_voter_left",
      "prompt_admitted",
      "session_closed",
      "session_died",
      "session_lifecycle",
    ]);
  });

  it("keeps the latest of what says how something stands", () => {
    expect(folding("latest")).toEqual([
      "agent_connected",
      "agent_mode_changed",
      "approval_mode_changed",
      "autonomy_profile_changed",
      "followup_suggestion",
      "instructions_sent",
      "model_config_changed",
      "model_switched",
      "sandbox_changed",
      "secret_redacted",
      "session_budget_changed",
      "session_cwd_changed",
      "session_metadata_updated",
      "session_recording_degraded",
      "session_status",
      "usage_reported",
    ]);
  });

  it("keeps everything that a person may ask about later", () => {
    expect(folding("keep")).toEqual([
      "active_agent_changed",
      "agent_access",
      "agent_setting_refused",
      "artifact_changed",
      "background_notification_turn_complete",
      "child_session_ended",
      "child_session_started",
      "command_result",
      "credits_settled",
      "credits_warning",
      "mid_turn_message_injected",
      "model_switch_failed",
      "pending_prompt_added",
      "pending_prompt_completed",
      "pending_prompt_started",
      "permission_decided",
      "permission_request",
      "permission_resolved",
      "persona_reloaded",
      "prompt_cancelled",
      "session_branched",
      "session_created",
      "session_drift",
      "session_grant_added",
      "session_grant_revoked",
      "session_update",
      "skill_invoked",
      "skills_reloaded",
      "user_shell_command",
      "user_shell_result",
    ]);
  });

  it("knows its own types, and not what every object inherits", () => {
    expect(EVENT_TYPES.every(isEventType)).toBe(true);
    expect(["history_truncated", "toString", "__proto__", ""].filter(isEventType)).toEqual([]);
  });
});

describe("the fold table of session updates", () => {
  it.each([
    ["agent_message_chunk", "join"],
    ["agent_thought_chunk", "join"],
    ["shell_output", "join"],
    ["tool_call", "collapse"],
    ["tool_call_update", "collapse"],
    ["available_commands_update", "latest"],
    ["current_mode_update", "latest"],
    ["config_option_update", "latest"],
    ["usage_update", "latest"],
    ["plan", "latest"],
    ["session_info_update", "patch"],
    ["user_message_chunk", "keep"],
  ])("folds %s by %s", (kind, fold) => {
    expect(updateFold(kind)).toBe(fold);
  });

  it.each(["a2ui", "of_a_later_version", "toString", "__proto__", ""])(
    'keeps the unknown kind "%s"',
    (kind) => {
      expect(updateFold(kind)).toBe("keep");
    },
  );
});
