import { describe, expect, it } from "vitest";
import {
  EVENT_TABLE,
  EVENT_TYPES,
  eventIs,
  type Fold,
  foldOf,
  isEventType,
} from "./event-table.ts";
import { Life } from "./life.fixture.ts";

const folding = (fold: Fold) => EVENT_TYPES.filter((type) => foldOf(type) === fold).toSorted();

describe("the fold table of events", () => {
  it("closes a turn with either verdict, and with nothing else", () => {
    expect(folding("boundary")).toEqual(["turn_complete", "turn_error"]);
  });

  it("drops what meant something only to those who were there", () => {
    expect(folding("drop")).toEqual([
      "agent_offer",
      "child_usage_reported",
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
      "stage_prompted",
    ]);
  });

  it("keeps the latest of what says how something stands", () => {
    expect(folding("latest")).toEqual([
      "agent_connected",
      "agent_mode_changed",
      "agent_option_changed",
      "approval_mode_changed",
      "autonomy_profile_changed",
      "instructions_sent",
      "model_config_changed",
      "model_switched",
      "sandbox_changed",
      "secret_redacted",
      "session_budget_changed",
      "session_cwd_changed",
      "session_metadata_updated",
      "session_month_budget_changed",
      "session_named",
      "session_status",
      "session_visibility_changed",
      "usage_reported",
    ]);
  });

  it("keeps everything that a person may ask about later", () => {
    expect(folding("keep")).toEqual([
      "active_agent_changed",
      "agent_access",
      "agent_setting_refused",
      "child_session_ended",
      "child_session_started",
      "command_result",
      "credits_settled",
      "credits_warning",
      "extension_disabled",
      "extensions_reloaded",
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
      "stage_ended",
      "stage_started",
      "usage_suspect",
      "user_shell_command",
      "user_shell_result",
      "workflow_aborted",
      "workflow_attached",
      "workflow_ended",
      "workflow_paused",
      "workflow_resumed",
    ]);
  });

  it("knows its own types, and not what every object inherits", () => {
    expect(EVENT_TYPES.every(isEventType)).toBe(true);
    expect(["history_truncated", "toString", "__proto__", ""].filter(isEventType)).toEqual([]);
  });
});

const that = (flag: "copied" | "listed" | "terminal") =>
  EVENT_TYPES.filter((type) => EVENT_TABLE[type][flag]).toSorted();

describe("the table of events", () => {
  it("copies into a fork what was said and done in turns", () => {
    expect(that("copied")).toEqual([
      "agent_access",
      "child_session_ended",
      "child_session_started",
      "command_result",
      "mid_turn_message_injected",
      "permission_decided",
      "permission_request",
      "permission_resolved",
      "prompt_cancelled",
      "session_update",
      "skill_invoked",
      "stage_ended",
      "stage_started",
      "turn_complete",
      "turn_error",
      "user_shell_command",
      "user_shell_result",
    ]);
  });

  it("lists a session anew where its row in a list changes", () => {
    expect(that("listed")).toEqual([
      "prompt_admitted",
      "session_closed",
      "session_created",
      "session_lifecycle",
      "session_metadata_updated",
      "session_named",
      "session_status",
      "session_visibility_changed",
      "turn_complete",
      "turn_error",
    ]);
  });

  it("P5: takes what agents do before they are up for no answer to a client", () => {
    const none = EVENT_TYPES.filter((type) => !EVENT_TABLE[type].answered).toSorted();
    expect(none).toEqual([
      "agent_access",
      "agent_setting_refused",
      "client_detached",
      "client_expired",
      "extension_disabled",
      "instructions_sent",
      "model_switch_failed",
      "secret_redacted",
      "session_created",
      "session_lifecycle",
      "session_status",
      "session_update",
      "usage_suspect",
    ]);
  });

  it("ends streams with the session", () => {
    expect(that("terminal")).toEqual(["session_closed", "session_died"]);
  });

  it("says nothing of an event type of a newer version, and keeps it in a replay", () => {
    const [event] = new Life().created().log;
    if (event === undefined) return expect.fail("a session begins with an event");
    expect(eventIs(event, "listed")).toBe(true);
    for (const type of ["of_a_newer_version", "toString", "__proto__"]) {
      expect(eventIs({ ...event, type } as typeof event, "listed")).toBe(false);
      expect(foldOf(type)).toBe("keep");
    }
  });
});
