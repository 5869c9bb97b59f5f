// What agents may delegate, by the policy of their tenant.

import { describe, expect, it } from "vitest";
import { childLimitsText } from "../../core/policy/child-limits.ts";
import { OpenedToolboxes, resultOf } from "../../session/children/delegating.fixture.ts";
import type { Person } from "../identity/people.fixture.ts";
import { PolicyTeam, type Room } from "./policy.fixture.ts";

/** A session of a member, under a policy for members; its agent delegates. */
async function delegating(children: unknown) {
  const toolboxes = new OpenedToolboxes();
  const team = await PolicyTeam.open({ stage: { toolboxes, settings: { childrenOpenMax: 4 } } });
  await team.policy({ roles: { member: { children } } });
  const room = await team.session(team.mel);
  let calls = 0;
  const call = (...script: readonly string[]) => {
    calls += 1;
    const { signal } = new AbortController();
    const use = { callId: `call-${calls}`, meta: {}, signal, progress: () => {} };
    return toolboxes.delegateTool().call({ task: script.join("\n") }, use);
  };
  return { team, room, call };
}

/** A turn of this person, whose agent is at work on it. */
async function atWork(room: Room, who: Person): Promise<string> {
  const words = () =>
    room.all("session_update").filter((data) => {
      return /agent_message_chunk.*at work/.test(JSON.stringify(data));
    }).length;
  const before = words();
  const promptId = await room.admitted(who, "say at work", "hang");
  await room.stream.until(() => words() > before);
  return promptId;
}

/** An agent that tells that its model has read so many tokens. */
function called(inputTokens: number): string {
  const content = { type: "text", text: "." };
  const _meta = { usage: { inputTokens, outputTokens: 0 } };
  return `update ${JSON.stringify({ sessionUpdate: "agent_message_chunk", content, _meta })}`;
}

describe("P10: the policy of a tenant and child sessions", () => {
  it("has none for a member whose policy says so, at once, and still for an owner", async () => {
    const { team, room, call } = await delegating("none");
    const promptId = await atWork(room, team.mel);
    const refused = await call("say one");
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain("children");
    await team.mel.call("POST", `${room.path}/cancel`, { body: {} });
    await room.verdict(promptId);
    await atWork(room, team.ada);
    expect(resultOf(await call("say one"))).toMatchObject({ state: "Closed", text: "one" });
    expect(room.all("child_session_started")).toHaveLength(1);
  });

  it("has fewer, shorter and smaller ones by lower limits", async () => {
    const limits = { atOnce: 1, perTurn: 3, seconds: 60, tokens: 10, resultBytes: 1_024 };
    const { team, room, call } = await delegating(limits);
    await atWork(room, team.mel);
    const used = resultOf(await call(called(11), "hang"));
    expect(used).toMatchObject({ state: "Halted", error: { code: "tokens_exceeded" } });
    const { text } = resultOf(await call(`say ${"long ".repeat(500)}`));
    expect([text.length <= 1_024, text.includes("was cut")]).toEqual([true, true]);
    const hanging = call("hang");
    await room.stream.until(() => room.all("child_session_started").length === 3);
    expect((await call("say more")).text).toContain("At most 1 child");
    const deadlines = room.all("child_session_started").map(({ deadlineAtMs }) => deadlineAtMs);
    expect(Math.max(...deadlines.map(Number))).toBeLessThanOrEqual(Date.now() + 60_000);
    await team.mel.call("POST", `${room.path}/cancel`, { body: {} });
    expect(resultOf(await hanging)).toMatchObject({ state: "Aborted" });
  });

  it("has no more than so many in one turn", async () => {
    const { team, room, call } = await delegating({ perTurn: 1 });
    await atWork(room, team.mel);
    expect(resultOf(await call("say one"))).toMatchObject({ text: "one" });
    expect((await call("say two")).text).toContain("At most 1 child");
  });

  it.each([
    ["more at once than there may be", { atOnce: 5 }, "children.atOnce"],
    ["a longer time than there may be", { seconds: 99_999 }, "children.seconds"],
    ["no tokens", { tokens: 0 }, "children.tokens"],
    ["a result that only says that it was cut", { resultBytes: 10 }, "children.resultBytes"],
    ["part of a child", { atOnce: 1.5 }, "whole numbers: atOnce"],
    ["a word", "some", '"any", "none"'],
    ["another limit", { depth: 2 }, "depth"],
  ])("cannot be set to %s", async (_what, children, text) => {
    const team = await PolicyTeam.open();
    const body = { version: 0, policy: { roles: { member: { children } } } };
    const set = await team.ada.call("PUT", "/tenant/policy", { body });
    expect(set.status, set.text).toBe(400);
    expect(String(set.body.error)).toContain(text);
  });

  it("is shown as it was set, and in the audit", async () => {
    const team = await PolicyTeam.open();
    await team.policy({
      roles: { member: { children: { atOnce: 2 } }, admin: { children: "none" } },
    });
    const { body } = await team.mel.call("GET", "/tenant/policy");
    expect(body.ceiling).toMatchObject({ children: { atOnce: 2, perTurn: 32 } });
    const { body: audit } = await team.ada.call("GET", "/audit?act=policy_set");
    expect(JSON.stringify(audit.entries)).toContain(
      '"changed":["admin.children: none","member.children: atOnce:2"]',
    );
    expect(childLimitsText({ atOnce: 0, perTurn: 1, seconds: 1, tokens: 1, resultBytes: 1 })).toBe(
      "none",
    );
  });
});
