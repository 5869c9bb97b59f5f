import { describe, expect, it } from "vitest";
import { updateFold } from "./compact.ts";

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
    ["plan_update", "plan"],
    ["plan_removed", "plan"],
    ["compaction_update", "compaction"],
    ["compaction_summary_chunk", "compaction"],
    ["notice", "drop"],
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
