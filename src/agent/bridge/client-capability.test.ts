import { describe, expect, it } from "vitest";
import { Stage } from "./bridge.fixture.ts";
import { clientCapabilities, isWithheld } from "./capability.ts";

describe("what an agent is offered", () => {
  it("is all that we can do, less what its profile withholds", () => {
    expect(clientCapabilities([])).toEqual({
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      auth: { terminal: true },
      session: { compaction: {}, configOptions: { boolean: {} }, notices: {} },
      plan: {},
      elicitation: { form: {}, url: {} },
      _meta: { "terminal-auth": true },
    });
    expect(clientCapabilities(["fs.read", "terminal", "elicitation"])).toEqual({
      fs: { readTextFile: false, writeTextFile: true },
      terminal: false,
      auth: { terminal: true },
      session: { compaction: {}, configOptions: { boolean: {} }, notices: {} },
      plan: {},
      _meta: { "terminal-auth": true },
    });
  });

  it("is told to the agent, which then does not use the rest", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo([], { withhold: ["fs.read"] }));
    const { text } = await hand.turn("read a.txt");
    expect(text).not.toContain("ENOENT");
    expect(hand.ears.audits).toEqual([]);
  });

  it("P2: and what was withheld is not served to one that asks for it all the same", async () => {
    expect(isWithheld("terminal/kill", ["terminal"])).toBe(true);
    expect(isWithheld("terminal/kill", ["fs.read"])).toBe(false);
    expect(isWithheld("session/request_permission", ["terminal"])).toBe(false);
    const stage = new Stage();
    const withhold = ["fs.read"] as const;
    const hand = await stage.connected(stage.odd("reads-anyway", { withhold }));
    expect((await hand.turn("go")).text).toContain("-32601");
    expect(hand.ears.audits).toEqual([]);
  });
});
