import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { anything, commandFor } from "../../core/session/anything.fixture.ts";
import {
  AGENT,
  askId,
  client,
  clientId,
  newAsk,
  newPrompt,
  sessionId,
  shellId,
  turnId,
} from "../../core/session/life.fixture.ts";
import { keyOf, openMemoryStore } from "../../store/sample.fixture.ts";
import { AuditedLife, told } from "./audited-life.fixture.ts";
import { checkpointEntry } from "./entries.ts";

/** One entry. It follows from how long its names are, and how many. */
const AUDIT_TEXT_CHARS_MAX = 64 * 1_024;

const acts = (entries: readonly JsonObject[]) => entries.map(({ act }) => act);

describe("what a decision leaves in the audit", () => {
  it("is every status and phase that it went through, with who and why", () => {
    const life = new AuditedLife().ready();
    const prompt = {
      ...newPrompt("p1"),
      start: { turnId: turnId("t1"), reservedMicro: 0, price: null },
    };
    const entries = life.attached("ann").left("prompt", prompt, client("ann"));
    expect(acts(entries)).toEqual(["prompt_admitted", "session_lifecycle", "session_status"]);
    expect(entries[2]).toEqual({
      v: 1,
      act: "session_status",
      cause: "prompt",
      actor: { kind: "client", clientId: "ann" },
      eventId: life.log.length - 1,
      accepted: true,
      promptId: "p1",
      turnId: "t1",
      details: { from: "ready", to: "running", cause: "prompt" },
    });
  });

  it("is the verdict of a turn and the commit that it ended in, by its revision", () => {
    const life = new AuditedLife().running();
    const report = {
      status: "turn_complete",
      turnId: turnId("t1"),
      stopReason: "end_turn",
    } as const;
    const entries = life.left("agent_status", report, AGENT);
    expect(entries).toMatchObject([
      { act: "session_lifecycle", details: { event: "SessionTurnEnd", outcome: "completed" } },
      { act: "turn_complete", details: { stopReason: "end_turn" } },
      { act: "session_status", details: { from: "running", to: "ready" } },
      { act: "session_lifecycle", details: { event: "SessionPersisted", revision: 7 } },
    ]);
    expect(entries[0]).toMatchObject({
      cause: "agent_status",
      agentStatus: "turn_complete",
      actor: { kind: "agent", activation: 1 },
    });
    expect(entries[0]?.details).not.toHaveProperty("revision");
  });

  it("is what a gate decided, and whether that was a permission", () => {
    const life = new AuditedLife().running({ approvalMode: "auto-edit" });
    expect(life.left("ask", newAsk("a1"), AGENT)).toMatchObject([
      {
        act: "permission_decided",
        details: {
          requestId: "a1",
          gate: "autonomy_profile",
          optionId: "yes",
          optionKind: "allow_once",
          toolKind: "edit",
        },
      },
    ]);
  });

  it("is each vote, with who gave it, and what it granted", () => {
    const life = new AuditedLife().waiting().attached("ann");
    const outcome = { outcome: "selected", optionId: "always" } as const;
    const vote = { requestId: askId("a1"), outcome };
    expect(life.left("vote", vote, client("ann"))).toMatchObject([
      {
        act: "permission_resolved",
        actor: { clientId: "ann" },
        details: { requestId: "a1", reason: "vote", outcome: "selected", optionId: "always" },
      },
      { act: "session_grant_added", details: { toolKind: "edit", tier: "write" } },
      { act: "session_status", details: { from: "waiting", to: "running" } },
    ]);
  });

  it("is why an ask ended that nobody answered", () => {
    const life = new AuditedLife().waiting();
    const withdrawn = { requestId: askId("a1"), reason: "agent_gone" } as const;
    expect(life.left("ask_withdrawn", withdrawn, AGENT)).toMatchObject([
      { act: "permission_resolved", details: { reason: "agent_gone", outcome: "cancelled" } },
      { act: "session_status", details: { from: "waiting", to: "running" } },
    ]);
  });

  it("is a vote that came too late, once and as refused", () => {
    const life = new AuditedLife().waiting();
    const vote = { requestId: askId("a1"), outcome: { outcome: "cancelled" } } as const;
    life.give("vote", vote, client(null));
    expect(life.left("vote", vote, client(null))).toMatchObject([
      { act: "permission_already_resolved", accepted: false, code: "ask_already_resolved" },
    ]);
  });

  it("is a resume with what it had to do without, a reload and a setting", () => {
    const life = new AuditedLife().ready();
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    const skipped = Array.from({ length: 40 }, (_, n) => ({ name: `x${n}`, reason: "missing" }));
    const [resumed] = life.left("resume", { skipped });
    expect(resumed).toMatchObject({
      cause: "resume",
      details: { event: "SessionResumeStarted", skippedCount: 40, skipped: { length: 16 } },
    });
    const reload = { hash: "new", difference: "the text of a skill" };
    expect(life.left("reload_skills", reload, client(null))).toMatchObject([
      { act: "skills_reloaded", details: { fromVersion: 1, toVersion: 2, toHash: "new" } },
    ]);
    expect(life.left("approval_mode", { mode: "auto", persisted: false })).toMatchObject([
      { act: "approval_mode_changed", details: { previous: "default", next: "auto" } },
    ]);
  });

  it("is a recovery, step by step; and a second one leaves nothing", () => {
    const life = new AuditedLife().waiting();
    const entries = life.left("recovery", {});
    expect(acts(entries)).toEqual([
      "permission_resolved",
      "turn_error",
      "session_status",
      "session_status",
      "session_lifecycle",
    ]);
    expect(entries.every(({ cause }) => cause === "recovery")).toBe(true);
    expect(entries[1]).toMatchObject({ details: { code: "SERVER_RESTART" } });
    expect(life.left("recovery", {})).toEqual([]);
  });

  it("is nothing for what an agent says, and nothing for its words out of turn", () => {
    const life = new AuditedLife().running();
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } };
    expect(life.left("agent_update", { update }, AGENT)).toEqual([]);
    expect(new AuditedLife().created().left("agent_update", { update }, AGENT)).toEqual([]);
  });

  it("is a snapshot between turns", () => {
    const at = { sessionId: sessionId("s"), epoch: "e", revision: 3, atMs: 5 };
    expect(told(checkpointEntry(at))).toMatchObject({
      act: "checkpoint",
      details: { revision: 3 },
    });
  });
});

describe("a refused command", () => {
  it("is told with its code, its state, and who tried", () => {
    const life = new AuditedLife().running();
    const entries = life.left("reload_skills", { hash: "h", difference: "" }, client(null));
    expect(entries).toEqual([
      {
        v: 1,
        act: "command_refused",
        cause: "reload_skills",
        actor: { kind: "client" },
        accepted: false,
        code: "session_busy",
        details: { state: "running", trigger: "reload_skills" },
      },
    ]);
  });

  it("P4: is told if an agent wanted an illegal step", () => {
    const life = new AuditedLife().ready();
    expect(life.left("agent_status", { status: "question_requested" }, AGENT)).toMatchObject([
      { act: "command_refused", agentStatus: "question_requested", code: "agent_out_of_turn" },
    ]);
  });
});

describe("the audit of any life", () => {
  const lives = (look: (life: AuditedLife) => void) => {
    const live = fc.property(anything, (intents) => {
      const life = new AuditedLife().created();
      for (const [step, intent] of intents.entries()) {
        life.submit(commandFor(life, intent, step + 2));
      }
      look(life);
    });
    fc.assert(live, { numRuns: 500 });
  };

  it("has keys that never repeat", () => {
    lives(({ entries }) => {
      expect(new Set(entries.map(({ key }) => key)).size).toBe(entries.length);
    });
  });

  it("has every change of status and phase", () => {
    lives(({ entries, log }) => {
      const isStep = (type: unknown) => type === "session_status" || type === "session_lifecycle";
      const audited = entries.map(told).filter(({ act }) => isStep(act));
      const logged = log.flatMap(({ type }, index) => (isStep(type) ? [index + 1] : []));
      expect(audited.map(({ eventId }) => eventId)).toEqual(logged);
    });
  });

  it("leaves to the log only what decides nothing", () => {
    const logged = new Set<string>();
    const audited = new Set<unknown>();
    lives(({ entries, log }) => {
      for (const { type } of log) logged.add(type);
      for (const entry of entries) audited.add(told(entry).act);
    });
    // Few lives come to the words of a stage, and some runs to none.
    audited.add("stage_prompted");
    expect([...logged].filter((type) => !audited.has(type)).sort()).toEqual([
      "agent_offer",
      "child_usage_reported",
      "client_attached",
      "client_detached",
      "client_expired",
      "credits_reserved",
      "credits_settled",
      "pending_prompt_added",
      "pending_prompt_completed",
      "pending_prompt_started",
      "session_update",
      "usage_reported",
    ]);
  });

  it("is taken by a store, twice if need be", async () => {
    const store = await openMemoryStore();
    const life = new AuditedLife().waiting();
    life.give("close", {}, client(null));
    const { tenantId } = keyOf("s");
    expect(await store.appendJournal(tenantId, life.entries)).toMatchObject({ ok: true });
    expect(await store.appendJournal(tenantId, life.entries)).toMatchObject({ ok: true });
  });
});

describe("P11: what was said and done", () => {
  const SAID = "the quick brown fox";

  it("is in no entry: not of a prompt, a tool, a title, a shell or an error", () => {
    const life = new AuditedLife().ready().attached("ann");
    const content = [{ type: "text", text: SAID }];
    life.give("metadata", { displayName: SAID }, client("ann"));
    const start = { turnId: turnId("t1"), reservedMicro: 0, price: null };
    life.give("prompt", { ...newPrompt("p1", { content }), start }, client("ann"));
    const toolCall = { toolCallId: "c", kind: "execute", title: SAID, rawInput: { command: SAID } };
    life.give("ask", newAsk("a1", { toolCall }), AGENT);
    const outcome = { outcome: "selected", optionId: "always" } as const;
    const answers = { why: SAID };
    life.give("vote", { requestId: askId("a1"), outcome, answers }, client("ann"));
    life.give("revoke_grant", { key: `execute:${SAID}` }, client("ann"));
    life.give("revoke_grant", { key: SAID }, client("ann"));
    const prompt = newPrompt("p2", { content });
    life.give("steer", { messageId: "m", prompt, agentCanSteer: true }, client("ann"));
    const shell = { shellId: shellId("sh1"), command: SAID, cwd: "/workspace", idempotency: null };
    life.give("shell_started", shell, client("ann"));
    const failure = { code: "-1", message: SAID, errorKind: null };
    life.give("agent_status", { status: "turn_error", turnId: turnId("t1"), failure }, AGENT);
    const model = { setting: "modelId", value: "m", reason: SAID } as const;
    life.give("model", { failure: model }, client("ann"));
    const thought = { setting: "reasoning", value: "deep", reason: SAID } as const;
    life.give("model", { failure: thought }, client("ann"));
    life.give("close", {}, client("ann"));
    expect(JSON.stringify(life.log).split(SAID).length).toBeGreaterThan(9);
    expect(JSON.stringify(life.entries)).not.toContain(SAID);
    const seen = new Set(life.entries.map(told).map(({ act }) => act));
    expect([...seen]).toEqual(expect.arrayContaining(["session_grant_added", "turn_error"]));
  });

  it("P10: entries stay short, whatever agents and clients call things", () => {
    const long = "\u0001".repeat(100_000);
    const life = new AuditedLife().running();
    const toolCall = { toolCallId: long, kind: long };
    life.give("ask", newAsk("a1", { toolCall }), AGENT);
    life.give("stop", { reason: "killed" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    const skipped = Array.from({ length: 1_000 }, () => ({ name: long, reason: long }));
    life.give("resume", { skipped });
    life.give("change_agent", { to: long });
    life.give("attach", { clientId: clientId("c"), idle: [] }, client(null));
    const longest = Math.max(...life.entries.map(({ text }) => text.length));
    expect(longest).toBeGreaterThan(10_000);
    expect(longest).toBeLessThanOrEqual(AUDIT_TEXT_CHARS_MAX);
  });
});
