import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { NO_SKILLS } from "../../core/skill/skill.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import type { OfferedTool, Toolboxes, ToolUse } from "../../tool/toolbox.ts";
import { given } from "../world.fixture.ts";
import { AgentTools, isCompletionCall, readSkillTool } from "./agent-tools.ts";

const OWNER = { tenantId: given(parseTenantId("acme")), agent: "echo" };
const SERVER = { name: "fermata", command: "/bin/true", args: [], env: [] };
const TOOL = readSkillTool(() => SNAPSHOT);

/** Toolboxes that remember what was opened and closed. */
function remembered() {
  const seen: string[] = [];
  const toolboxes: Toolboxes = {
    open({ agent }, tools) {
      seen.push(`open ${agent} ${tools.map(({ name }) => name).join()}`);
      const settled = async () => void seen.push("settled");
      return { server: SERVER, settled, close: () => void seen.push("close") };
    },
  };
  return { seen, toolboxes };
}

describe("a call that completes a stage", () => {
  const call = { title: "mcp__fermata__complete_stage", rawInput: { result: { verdict: "ok" } } };

  it("is known by its exact name, with nothing in it but the result", () => {
    expect(isCompletionCall(call)).toBe(true);
    expect(isCompletionCall({ ...call, kind: "other" })).toBe(true);
  });

  it("is none if it is named otherwise, or says that it does anything else", () => {
    for (const change of [
      { title: "mcp__other__complete_stage" },
      { title: "rm # mcp__fermata__complete_stage" },
      { kind: "edit" },
      { kind: "execute" },
      { rawInput: { result: {}, command: "ls" } },
      { locations: [{ path: "/a.ts" }] },
    ]) {
      expect(isCompletionCall({ ...call, ...change })).toBe(false);
    }
  });
});

describe("the tools of one session at its agent", () => {
  it("come by an MCP server, until the session is there no more", () => {
    const { seen, toolboxes } = remembered();
    const tools = AgentTools.open({ toolboxes }, OWNER, [TOOL]);
    expect(tools.server).toBe(SERVER);
    expect(tools.has("read_skill")).toBe(true);
    tools.close();
    expect(seen).toEqual(["open echo read_skill", "close"]);
  });

  it("cost nothing where there are none", () => {
    const { seen, toolboxes } = remembered();
    expect(AgentTools.open({ toolboxes }, OWNER, []).server).toBeNull();
    expect(AgentTools.open({}, OWNER, [TOOL])).toMatchObject({ server: null, skipped: [] });
    expect(seen).toEqual([]);
  });

  it("P6: are skipped with the reason where the agent cannot have them", () => {
    const tools = AgentTools.open({ toolboxes: { open: () => "it has none" } }, OWNER, [TOOL]);
    expect(tools.skipped).toEqual([{ name: "tool read_skill", reason: "it has none" }]);
    expect(tools).toMatchObject({ server: null });
    expect(tools.has("read_skill")).toBe(false);
  });
});

describe("read_skill", () => {
  const read = (tool: OfferedTool, name: unknown) => tool.call({ name }, USE);
  const USE: ToolUse = {
    callId: "1",
    meta: {},
    signal: new AbortController().signal,
    progress: () => {},
  };

  it("P7: gives the text that the session's snapshot has", async () => {
    const text = "The instructions of review.";
    expect(await read(TOOL, "review")).toEqual({ isError: false, text });
  });

  it("says which skills there are for a name that is none", async () => {
    const { isError, text } = await read(TOOL, "reviews");
    expect(isError).toBe(true);
    expect(text).toMatch(/no skill of this name.*commit, first-two, other-two, review, run/);
    expect(
      (
        await read(
          readSkillTool(() => NO_SKILLS),
          "review",
        )
      ).text,
    ).toMatch(/has no skills/);
  });
});
