import {
  asKnownDaemonEvent,
  createDaemonSessionViewState,
  DAEMON_KNOWN_EVENT_TYPE_VALUES,
  type DaemonEvent,
  reduceDaemonSessionEvent,
} from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import {
  clientOf,
  dataOf,
  joined,
  Listener,
  newSession,
  script,
  updateOf,
} from "./session.fixture.ts";

const server = sharedServer();
const ALLOW = { outcome: { outcome: "selected" as const, optionId: "allow_once" } };

/** Its reducer has no case for these: it counts them as not recognised. */
const UNREAD = ["prompt_cancelled", "replay_complete"];
const READ = DAEMON_KNOWN_EVENT_TYPE_VALUES.filter((type) => !UNREAD.includes(type));

const TURN = script(
  "think hm",
  "say hello",
  'plan "look"|"leap"',
  "tool t1 kind=read title=look path=a.txt status=completed",
  "commands one,two",
  "usage 10 100 input=3 output=4",
  "ask kind=execute title=leap",
  "title a title",
);

/** A session in which everything happened that a client shows. */
async function fullLife(): Promise<Listener> {
  const ada = await newSession(server());
  const listener = await Listener.caughtUp(ada);
  await ada.setModel("echo-large");
  await expect(ada.setModel("no-such-model")).rejects.toThrow();
  await ada.client.setSessionApprovalMode(ada.sessionId, "auto-edit");
  const running = ada.prompt(TURN);
  const { requestId } = dataOf(await listener.heard("permission_request"));
  const queued = ada.prompt(script("say queued"));
  const cancelled = await ada.submitPrompt(script("say never"));
  await ada.removePendingPrompt(cancelled.promptId);
  await ada.respondToSessionPermission(String(requestId), ALLOW);
  await ada.respondToSessionPermission(String(requestId), ALLOW);
  await Promise.all([running, queued]);
  await expect(ada.prompt(script("fail -32001 no luck"))).rejects.toThrow();
  await ada.updateMetadata({ displayName: "by hand" });
  await ada.close();
  await listener.ended();
  return listener;
}

function seen(events: readonly DaemonEvent[]) {
  return events
    .filter(({ type }) => !UNREAD.includes(type))
    .reduce(reduceDaemonSessionEvent, createDaemonSessionViewState());
}

describe("our events, read by the SDK's own schema", () => {
  it("are all known by its names with all that they must have, or are ours alone", async () => {
    const { events } = await fullLife();
    const known = events.filter(({ type }) => READ.some((name) => name === type));
    expect(known.filter((event) => asKnownDaemonEvent(event) === undefined)).toEqual([]);
    const types = new Set(known.map(({ type }) => type));
    expect([...types]).toEqual(
      expect.arrayContaining([
        ...["session_update", "permission_request", "permission_resolved"],
        ...["permission_already_resolved", "model_switched", "model_switch_failed"],
        ...["approval_mode_changed", "pending_prompt_added", "pending_prompt_started"],
        ...["pending_prompt_completed", "turn_complete", "turn_error"],
        ...["session_metadata_updated", "session_closed"],
      ]),
    );
    const kinds = new Set(known.map((event) => updateOf(event).sessionUpdate));
    expect([...kinds]).toEqual(
      expect.arrayContaining([
        ...["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "plan"],
        ...["tool_call", "tool_call_update", "available_commands_update", "usage_update"],
      ]),
    );
  });

  it("make a view of the session that is right at its end", async () => {
    const { events, session } = await fullLife();
    expect(seen(events)).toMatchObject({
      sessionId: session.sessionId,
      lastEventId: events.findLast(({ id }) => id !== undefined)?.id,
      alive: false,
      currentModelId: "echo-large",
      approvalMode: "auto-edit",
      displayName: "by hand",
      pendingPermissions: {},
      lastModelSwitchFailure: { requestedModelId: "no-such-model" },
      terminalEvent: { type: "session_closed" },
      unrecognizedKnownEventCount: 0,
      droppedPermissionRequestCount: 0,
      unmatchedPermissionResolutionCount: 1, // The vote that came late.
    });
  });

  it("have an open request in the view for as long as it is open", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(await joined(server(), ada));
    const running = ada.prompt(script("ask kind=execute title=leap"));
    const { requestId } = dataOf(await listener.heard("permission_request"));
    expect(Object.keys(seen(listener.events).pendingPermissions)).toEqual([requestId]);
    await ada.respondToSessionPermission(String(requestId), ALLOW);
    await listener.heard("turn_complete");
    expect(seen(listener.events)).toMatchObject({ alive: true, pendingPermissions: {} });
    await running;
  });

  it("are known in what is loaded, too", async () => {
    const { session } = await fullLife();
    const loaded = await clientOf(server()).loadSession(session.sessionId);
    const events = [...(loaded.compactedReplay ?? []), ...(loaded.liveJournal ?? [])];
    const view = seen(events);
    expect(view.unrecognizedKnownEventCount).toBe(0);
    expect(view).toMatchObject({ currentModelId: "echo-large", displayName: "by hand" });
    expect(view.alive).toBe(true); // What ended an earlier life of it is passed over.
  });
});
