import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { McpBridge } from "./mcp.fixture.ts";

const server = sharedServer();

describe("the SDK's qwen-serve-mcp, in front of a server", { timeout: 60_000 }, () => {
  it("lists its tools", async () => {
    const bridge = await McpBridge.start(server().url);
    const { tools } = await bridge.ask("tools/list");
    expect(tools).toEqual(
      expect.arrayContaining(
        ["capabilities", "session_create", "session_load", "session_list", "prompt"].map((name) =>
          expect.objectContaining({ name }),
        ),
      ),
    );
  });

  it("finds a server that it knows", async () => {
    const bridge = await McpBridge.start(server().url);
    expect(await bridge.call("health")).toMatchObject({ isError: false, status: "ok" });
    const { workspace } = server();
    expect(await bridge.call("capabilities")).toMatchObject({ v: 1, workspaceCwd: workspace });
  });

  it("sends a prompt, and has the agent's whole answer with its stop reason", async () => {
    const bridge = await McpBridge.start(server().url);
    const { sessionId } = await bridge.call("session_create", { session_scope: "thread" });
    const answer = await bridge.call("prompt", { prompt: "say one,\nsay  two" });
    expect(answer).toEqual({
      isError: false,
      session_id: sessionId,
      stop_reason: "end_turn",
      response: "one,two",
    });
  });
});
