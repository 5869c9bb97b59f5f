import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { REFUSAL_COUNTS_MAX, REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import {
  AGENT,
  askId,
  client,
  clientId,
  newAsk,
  newPrompt,
  noCredit,
  promptId,
  sessionId,
} from "../../core/session/life.fixture.ts";
import { AuditedLife, told } from "./audited-life.fixture.ts";

function user(name: string, id: string | null = null): Actor {
  const named = id === null ? null : clientId(id);
  return { kind: "client", clientId: named, userId: parseUserId(name), loopback: true };
}

const EVE = user("eve");
const BEN = user("ben");

/** Far more than are told one by one, and not one of the doublings. */
const FLOOD = 2 * REFUSALS_AUDITED_MAX + 5;

function flooded(by: (n: number) => Actor): AuditedLife {
  const life = new AuditedLife().ready();
  for (let n = 0; n < FLOOD; n += 1) life.give("change_cwd", { to: "/elsewhere" }, by(n));
  return life;
}

describe("a flood of refusals", () => {
  it("P10: is told to its beginning, and then each time that it has doubled", () => {
    const life = flooded(() => EVE);
    expect(life.entries.map(told).filter(({ act }) => act === "command_refused")).toHaveLength(
      REFUSALS_AUDITED_MAX + 1,
    );
    const doubled = life.entries.map(told).at(-1);
    expect(doubled).toMatchObject({ actor: { userId: "eve" }, details: { count: 512 } });
  });

  it("hides nothing that somebody else tried, and nothing else that its author tried", () => {
    const life = flooded(() => EVE);
    expect(life.left("change_cwd", { to: "/elsewhere" }, BEN)).toMatchObject([
      { act: "command_refused", actor: { userId: "ben" }, code: "workspace_mismatch" },
    ]);
    expect(life.left("set_budget", { budgetMicro: -1 }, EVE)).toMatchObject([
      { act: "command_refused", actor: { userId: "eve" }, code: "invalid_amount" },
    ]);
  });

  it("is the same user's by whichever client", () => {
    const life = new AuditedLife().ready();
    const ids = ["c1", "c2", "c3"];
    const clients = ids.map((id) => user("eve", id));
    for (const id of ids) life.give("attach", { clientId: clientId(id), idle: [] }, EVE);
    for (let n = 0; n < FLOOD; n += 1) {
      life.give("change_cwd", { to: "/elsewhere" }, clients[n % 3] ?? EVE);
    }
    const left = life.entries.map(told).filter(({ act }) => act === "command_refused");
    expect(left).toHaveLength(REFUSALS_AUDITED_MAX + 1);
  });

  it("P10: under names without end is one flood, and hides no other refusal", () => {
    const life = new AuditedLife().ready();
    const names = REFUSAL_COUNTS_MAX + FLOOD;
    for (let n = 0; n < names; n += 1) {
      life.give("metadata", { displayName: "x" }, client(`c${n}`));
    }
    const left = life.entries.map(told).filter(({ code }) => code === "invalid_client_id");
    expect(left).toHaveLength(REFUSAL_COUNTS_MAX + REFUSALS_AUDITED_MAX + 1);
    expect(life.left("set_budget", { budgetMicro: -1 }, BEN)).toMatchObject([
      { actor: { userId: "ben" }, code: "invalid_amount" },
    ]);
  });

  it("does not count what is not told anyhow", () => {
    const life = new AuditedLife().ready();
    const update = { sessionUpdate: "agent_message_chunk" };
    life.give("agent_status", { status: "terminating" }, AGENT);
    life.give("agent_status", { status: "terminated" }, AGENT);
    for (let n = 0; n < FLOOD; n += 1) life.give("agent_update", { update }, AGENT);
    expect(life.left("agent_status", { status: "turn_started" }, AGENT)).toMatchObject([
      { act: "command_refused" },
    ]);
  });

  it("takes no entry from an event that is stored", () => {
    const life = new AuditedLife().ready();
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, BEN);
    life.give("ask", newAsk("a1", { policy: "designated" }), AGENT);
    const outcome = { outcome: "selected", optionId: "yes" } as const;
    for (let n = 0; n < FLOOD; n += 1) life.give("vote", { requestId: askId("a1"), outcome }, EVE);
    const stored = life.log.filter(({ type }) => type === "permission_forbidden");
    const entries = life.entries.map(told).filter(({ act }) => act === "permission_forbidden");
    expect([stored.length, entries.length]).toEqual([FLOOD, FLOOD]);
  });
});

describe("who did it, in the audit", () => {
  const closed = (entries: readonly JsonObject[]) =>
    entries.filter(({ act }) => act === "session_closed");

  it("is whoever closed a session, not the agent that went because of it", () => {
    const life = new AuditedLife().ready();
    life.give("close", {}, BEN);
    const entries = life.left("agent_status", { status: "terminated" }, AGENT);
    expect(closed(entries)).toMatchObject([{ actor: { kind: "client", userId: "ben" } }]);
    const [lifecycle] = entries;
    expect(lifecycle).toMatchObject({ actor: { kind: "agent" } });
  });

  it("is a client without a name, if that one closed it", () => {
    const life = new AuditedLife().ready();
    life.give("close", {}, client(null));
    const entries = life.left("agent_status", { status: "terminated" }, AGENT);
    expect(closed(entries)).toMatchObject([{ actor: { kind: "client" } }]);
  });

  it("is whoever typed the command that reloaded, changed or closed", () => {
    const life = new AuditedLife().ready();
    const content = [{ type: "text", text: "/reload" }];
    life.give("prompt", newPrompt("p1", { content }), BEN);
    const result = { status: "ok", code: "reloaded", message: "" } as const;
    const effect = { type: "reload_skills", hash: "h", difference: "" } as const;
    const entries = life.left("command_result", { promptId: promptId("p1"), result, effect });
    expect(entries).toMatchObject([
      { act: "skills_reloaded", actor: { kind: "client", userId: "ben" } },
      { act: "command_result", actor: { kind: "server" } },
      { act: "turn_complete" },
    ]);
  });

  it("is whoever branched, though the server tells of it", () => {
    const life = new AuditedLife().ready();
    const [source, fork] = [sessionId("s"), sessionId("s2")];
    const data = { sourceSessionId: source, newSessionId: fork, displayName: "x" };
    const announcement = { type: "session_branched", data } as const;
    const originator = { clientId: null, userId: parseUserId("ben") };
    expect(life.left("announce", { announcement, originator })).toMatchObject([
      { act: "session_branched", actor: { kind: "client", userId: "ben" } },
    ]);
    expect(life.log.at(-1)).toMatchObject({ originatorUserId: "ben" });
  });
});

describe("what the audit is told", () => {
  it("of a new session has all that it may do unasked", () => {
    const life = new AuditedLife();
    const allowlist = ["execute:ls", "edit:/src/*"];
    life.created({ securityMode: "allowlist", allowlist, approvalMode: "auto", budgetMicro: 5 });
    expect(life.entries.map(told)[0]).toMatchObject({
      act: "session_created",
      details: {
        securityMode: "allowlist",
        autonomyProfile: "autonomous",
        agentMode: null,
        budgetMicro: 5,
        allowlistCount: 2,
        allowlistHash: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    });
    expect(JSON.stringify(life.entries)).not.toContain("execute:ls");
  });

  it("of grants tells them apart, and by which ask they came", () => {
    const life = new AuditedLife().running();
    const outcome = { outcome: "selected", optionId: "always" } as const;
    const locations = [{ path: "/a" }, { path: "/b" }];
    life.give("ask", newAsk("a1", { toolCall: { kind: "edit", locations } }), AGENT);
    const entries = life.left("vote", { requestId: askId("a1"), outcome }, BEN);
    const added = entries.filter(({ act }) => act === "session_grant_added");
    const hashes = added.map(({ details }) => Object(details).keyHash);
    expect(new Set(hashes).size).toBe(2);
    expect(added[0]).toMatchObject({ details: { requestId: "a1", toolKind: "edit" } });
    const [revoked] = life.left("revoke_grant", { key: "edit:/a" }, BEN);
    expect(revoked).toMatchObject({ details: { toolKind: "edit", keyHash: hashes[0] } });
  });

  it("P11: has no words of an agent's that are put where names belong", () => {
    const words = "the key is hunter2";
    const life = new AuditedLife().ready();
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, BEN);
    const options = [{ optionId: words, kind: words, name: words }, ...newAsk("a").options];
    const toolCall = { toolCallId: words, kind: words, locations: [{ path: "/a" }] };
    life.give("ask", newAsk("a1", { toolCall, options }), AGENT);
    const outcome = { outcome: "selected", optionId: words } as const;
    life.give("vote", { requestId: askId("a1"), outcome }, BEN);
    life.give("ask", newAsk("a2", { toolCall }), AGENT);
    const always = { outcome: "selected", optionId: "always" } as const;
    life.give("vote", { requestId: askId("a2"), outcome: always }, BEN);
    life.complete("t1", words);
    expect(JSON.stringify(life.log)).toContain(words);
    expect(JSON.stringify(life.entries)).not.toContain("hunter2");
    const asked = life.entries.map(told).find(({ act }) => act === "permission_request");
    expect(asked).toMatchObject({
      details: { toolKind: "other", toolCallId: expect.stringMatching(/^sha256:[0-9a-f]{16}$/) },
    });
  });
});
