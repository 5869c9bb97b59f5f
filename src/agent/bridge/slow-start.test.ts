import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { Stage } from "./bridge.fixture.ts";

/** An agent that does something for so long before it answers this method, and then is fine. */
const slowAt = (method: string, busyMs: number) => `
  const lines = require("node:readline").createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const { id, method } = JSON.parse(line);
    const until = Date.now() + (method === ${JSON.stringify(method)} ? ${busyMs} : 0);
    while (Date.now() < until) {}
    const result = { protocolVersion: 1, sessionId: "S", stopReason: "end_turn" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
`;

const start = (method: string, busyMs: number, limits: Partial<typeof DEFAULT_LIMITS>) => {
  const stage = new Stage();
  const changed = { limits: { ...DEFAULT_LIMITS, ...limits } };
  const args = ["-e", slowAt(method, busyMs)];
  return { stage, profile: stage.command(process.execPath, args, changed) };
};

describe("an agent that is slow because it is at work", () => {
  it.each(["initialize", "session/new"])("is waited for at %s", async (method) => {
    const { stage, profile } = start(method, 2_500, { startMs: 1_500, callMs: 500 });
    const hand = await stage.connected(profile);
    expect(hand.session.agentSessionId).toBe("S");
  });

  it("P10: is not waited for without end", async () => {
    const { stage, profile } = start("initialize", 60_000, { startMs: 400 });
    const refusal = await stage.refused(profile);
    expect(refusal).toMatchObject({ code: "agent_start_timeout", details: { limitMs: 1_200 } });
  });
});
