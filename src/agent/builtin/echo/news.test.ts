import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

describe("a tool call of echo", () => {
  it("is made and ends, with ids that count up", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("tool", "tool kind=read status=failed");
    expect(updates).toEqual([
      {
        sessionUpdate: "tool_call",
        toolCallId: "call-1",
        status: "in_progress",
        title: "Tool call call-1",
        kind: "other",
      },
      update("call-1", "completed"),
      expect.objectContaining({ sessionUpdate: "tool_call", toolCallId: "call-2", kind: "read" }),
      update("call-2", "failed"),
    ]);
  });

  it("shows a difference if it edits", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt('tool e kind=edit path=/a title="Edit a" text=new');
    expect(updates).toMatchObject([
      { title: "Edit a", kind: "edit", locations: [{ path: "/a" }], rawInput: { path: "/a" } },
      { content: [{ type: "diff", path: "/a", oldText: null, newText: "new" }] },
    ]);
  });

  it("stays open if told to, and is gone on with by its id", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt(
      "tool t command=ls status=open",
      "tool t status=open text=half",
      "tool t text=done",
      "tool t",
    );
    expect(updates.map((one) => [one.sessionUpdate, one.status])).toEqual([
      ["tool_call", "in_progress"],
      ["tool_call_update", "in_progress"],
      ["tool_call_update", "completed"],
      ["tool_call", "in_progress"],
      ["tool_call_update", "completed"],
    ]);
    expect(updates[0]).toMatchObject({ title: "ls", rawInput: { command: "ls" } });
  });

  it("may have a status and a kind that nobody knows", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("tool t kind=juggle status=weird");
    expect(updates).toMatchObject([{ kind: "juggle" }, { status: "weird" }]);
    expect(client.forgive()).not.toEqual([]);
  });
});

describe("echo, told to tell,", () => {
  it("sends a plan, commands, a title, and no title", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("plan a|b", "commands x,y", "title The name", "title");
    expect(updates).toEqual([
      {
        sessionUpdate: "plan",
        entries: [
          { content: "a", priority: "medium", status: "in_progress" },
          { content: "b", priority: "medium", status: "pending" },
        ],
      },
      {
        sessionUpdate: "available_commands_update",
        availableCommands: [
          { name: "x", description: "Says x" },
          { name: "y", description: "Says y" },
        ],
      },
      { sessionUpdate: "session_info_update", title: "The name" },
      { sessionUpdate: "session_info_update", title: null },
    ]);
  });

  it("tells its usage, and the turn's sum of it with the answer", async () => {
    const client = await EchoClient.withSession();
    const turn = await client.prompt(
      "usage 10 100 input=5 output=2 cost=0.5",
      "usage 20 100 input=1 cached=3 thought=4",
    );
    expect(turn.updates).toEqual([
      {
        sessionUpdate: "usage_update",
        used: 10,
        size: 100,
        cost: { amount: 0.5, currency: "USD" },
      },
      { sessionUpdate: "usage_update", used: 20, size: 100 },
    ]);
    const usage = {
      inputTokens: 6,
      outputTokens: 2,
      cachedReadTokens: 3,
      thoughtTokens: 4,
      totalTokens: 15,
    };
    expect(turn.reply).toEqual({ result: { stopReason: "end_turn", usage } });
    expect((await client.prompt("say a")).reply).toEqual({ result: { stopReason: "end_turn" } });
  });

  it("changes its mode and its options by itself", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt(
      "mode plan",
      "config model echo-cave",
      "config loud true",
    );
    expect(updates).toMatchObject([
      { sessionUpdate: "current_mode_update", currentModeId: "plan" },
      {
        sessionUpdate: "config_option_update",
        configOptions: [{ id: "model", currentValue: "echo-cave" }, {}, {}, {}, {}],
      },
      { configOptions: [{}, {}, {}, {}, { id: "loud", type: "boolean", currentValue: true }] },
    ]);
    expect((await client.prompt("whoami")).text).toMatch(/model: echo-cave\nmode: plan\n/);
  });

  it("sends any update, and one that nobody knows", async () => {
    const client = await EchoClient.withSession();
    const known = '{"sessionUpdate":"plan","entries":[]}';
    const { updates } = await client.prompt(`update ${known}`, "unknown-update");
    expect(updates[0]).toEqual({ sessionUpdate: "plan", entries: [] });
    expect(updates[1]).toEqual({
      sessionUpdate: "echo_from_the_future",
      content: { type: "hologram", depth: 3 },
      extra: [null, true, { nested: "as it came" }],
    });
    expect(client.forgive()).not.toEqual([]);
  });
});

function update(toolCallId: string, status: string) {
  const content = { type: "text", text: `${toolCallId}: ${status}` };
  return {
    sessionUpdate: "tool_call_update",
    toolCallId,
    status,
    content: [{ type: "content", content }],
  };
}
