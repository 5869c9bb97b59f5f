import { describe, expect, it } from "vitest";
import { parsePromptId, parseSessionId } from "../../core/id.ts";
import type { ReplayEvent } from "../../core/replay/window.ts";
import { given } from "../world.fixture.ts";
import { promptTerminals } from "./turn-status.ts";

const promptId = given(parsePromptId("p1"));
const ids = { sessionId: given(parseSessionId("s")), promptId };
const envelope = { id: 1, v: 1, _meta: { serverTimestamp: 0 } } as const;
const at = "1970-01-01T00:00:00.000Z";

const completed = (stopReason: string): ReplayEvent => {
  return { ...envelope, type: "turn_complete", data: { ...ids, stopReason } };
};

const failed = (code: string): ReplayEvent => {
  return { ...envelope, type: "turn_error", data: { ...ids, code, message: "no" } };
};

describe("how prompts have ended", () => {
  it.each([
    [completed("end_turn"), { terminal: "completed", stopReason: "end_turn" }],
    [completed("max_tokens"), { terminal: "completed", stopReason: "max_tokens" }],
    [completed("cancelled"), { terminal: "cancelled", stopReason: "cancelled" }],
    [failed("-32603"), { terminal: "error", code: "-32603" }],
    [failed("SERVER_RESTART"), { terminal: "interrupted", code: "daemon_lost" }],
    [failed("STORE_FAILURE"), { terminal: "interrupted", code: "daemon_lost" }],
  ])("is told in the wire's words: %j", (event, how) => {
    expect(promptTerminals([event])).toEqual([{ v: 1, promptId, ...how, at }]);
  });

  it("is nothing of what is not over", () => {
    const data = { ...ids, update: { sessionUpdate: "plan" } };
    expect(promptTerminals([{ ...envelope, type: "session_update", data }])).toEqual([]);
  });
});
