import { EMPTY_TURN } from "../turn.ts";
import { askId, childId, clientId, promptId, sessionId, shellId, turnId } from "./life.fixture.ts";
import type { Session, WaitingPrompt } from "./state.ts";

/**
 * The format of version 5, written by hand and never to be changed: such texts are stored. If a
 * test fails here, the shape has changed, and it needs a new version and a migration to it.
 */

const waiting: WaitingPrompt = {
  promptId: promptId("p2"),
  text: "and then?",
  content: [{ type: "text", text: "and then?" }],
  clientId: null,
  userId: null,
  deadlineAtMs: 9_000,
  admittedAtMs: 2_500,
  params: { _meta: { trace: [1, null] } },
  echo: true,
  waited: true,
};

/** One that has something in each of its fields. */
export const WAITING: Session = {
  sessionId: sessionId("s1"),
  fixed: {
    workspaceCwd: "/workspace",
    scope: "thread",
    securityMode: "allowlist",
    allowlist: ["edit:/src/*"],
    storeId: "sqlite",
    source: { type: "branch", id: "s0" },
    parentSessionId: sessionId("s0"),
    createdAtMs: 1_000,
  },
  chosen: {
    activeAgent: "echo",
    modelConfig: { modelId: "large", temperature: 0.5, reasoning: "high", verbosity: "low" },
    skills: { version: 2, hash: "abc" },
    persona: { version: 1, hash: "def" },
    approvalMode: "auto-edit",
    displayName: "A name",
    titleSource: "auto",
    currentCwd: "/workspace/src",
    budgetMicro: 5_000,
  },
  phase: "Active",
  connection: {
    turn: {
      turnId: turnId("t1"),
      hasOutput: true,
      pendingToolCalls: new Map([["call-2", { toolName: "Edit", startedAt: 2_600 }]]),
      completedToolIds: new Set(["call-1"]),
      persistedToolCallIds: new Set(["call-1", "call-2"]),
      openAsks: new Map([
        [
          askId("a2"),
          {
            requestId: askId("a2"),
            kind: "permission",
            toolCall: { toolCallId: "call-2", title: "gh pr" },
            options: [{ optionId: "yes", kind: "allow_once" }],
            keys: ["edit:/a.ts"],
            covers: ["edit:/c.ts"],
            tier: "write",
            access: { action: "write", path: "/a.ts" },
            mediation: {
              policy: "consensus",
              designated: "client c1",
              voters: ["client c1", "client c2"],
              quorum: 2,
            },
            votes: new Map([["client c2", "yes"]]),
            askedAtMs: 2_700,
            deadlineAtMs: 8_000,
          },
        ],
      ]),
      currentReservation: {
        turnId: turnId("t1"),
        reservedMicro: 700,
        slices: 2,
        price: { input: 1, output: 2, cachedRead: 3, cachedWrite: 4, thought: 5, perTurn: 6 },
        spentMicro: 7,
      },
      lastContextUsage: {
        model: "large",
        used: 10,
        size: null,
        tokens: { input: 1, output: 2, cachedRead: 3, cachedWrite: 4, thought: 5 },
      },
      children: new Map([
        [
          childId("k1"),
          {
            childId: childId("k1"),
            callId: "call-3",
            title: "Look around",
            agent: "chat",
            model: "small",
            startedAtMs: 2_650,
            deadlineAtMs: 9_500,
            rules: {
              autonomyProfile: "supervised",
              isPlanning: false,
              grants: new Set(["edit:/b.ts"]),
              readOnly: true,
            },
            permits: [
              { requestId: askId("a3"), toolCallId: "k1/c", keys: ["read:/a"], allowed: true },
            ],
            openCalls: new Set(["k1/c"]),
            hasWorked: true,
            price: null,
            usage: null,
            spentMicro: 0,
            ended: null,
          },
        ],
      ]),
    },
    sessionState: "waiting",
    sessionGrants: new Map([["edit:/b.ts", "write"]]),
    autonomyProfile: "balanced",
    agentMode: "plan",
    sandboxState: "ready",
    sandboxProvisionedAt: 1_500,
    lastSandboxActivity: 2_600,
  },
  running: {
    ...waiting,
    promptId: promptId("p1"),
    text: "go",
    content: [{ type: "text", text: "go" }],
    clientId: clientId("c1"),
    deadlineAtMs: null,
    admittedAtMs: 2_000,
    params: null,
    waited: false,
    turnId: turnId("t1"),
    startedAtMs: 2_001,
    stopCause: null,
    stopAskedAtMs: null,
    steeredIds: ["m7"],
    shellContext: ["$ ls"],
    permits: [
      { requestId: askId("a1"), toolCallId: "call-1", keys: ["execute:ls"], allowed: true },
    ],
    stamp: { promptId: promptId("p1"), originatorClientId: clientId("c1") },
    slash: "skill",
  },
  queue: [waiting],
  clients: new Map([
    [clientId("c1"), { count: 1, userId: null }],
    [clientId("c2"), { count: 2, userId: null }],
  ]),
  admissions: new Map([
    ["k1", { hash: "h", answer: { promptId: promptId("p1"), lastEventId: 7 }, atMs: 2_000 }],
    ["k2", { hash: "i", answer: { shellId: shellId("sh1") }, atMs: 2_100 }],
  ]),
  voidGrants: ["execute:Bash"],
  resolvedAsks: new Map([
    [askId("a0"), { outcome: "cancelled" }],
    [askId("a1"), { outcome: "selected", optionId: "no" }],
  ]),
  shellContext: ["$ pwd"],
  shells: new Map([[shellId("sh1"), { command: "make", clientId: null, startedAtMs: 2_100 }]]),
  activation: 3,
  ending: null,
  closed: false,
  agentSessionId: "agent-1",
  agentUntold: false,
  instructed: { skills: "abc", persona: "def" },
  surroundings: {
    agent: "echo 1.0",
    model: "large",
    skills: "abc",
    persona: null,
    mcpServers: ["files 1a"],
  },
  lastTurnError: null,
  lastVerdictAtMs: 1_900,
  totals: {
    promptCount: 3,
    turnsCompleted: 1,
    turnsFailed: 0,
    toolCalls: 2,
    toolFailures: 0,
    chargedMicro: 30,
    tokensByModel: new Map([
      ["large", { input: 1, output: 2, cachedRead: 3, cachedWrite: 4, thought: 5 }],
    ]),
  },
};

export const WAITING_TEXT = `{
  "sessionId": "s1",
  "fixed": {
    "workspaceCwd": "/workspace", "scope": "thread", "securityMode": "allowlist",
    "allowlist": ["edit:/src/*"], "storeId": "sqlite", "source": {"type": "branch", "id": "s0"},
    "parentSessionId": "s0", "createdAtMs": 1000
  },
  "chosen": {
    "activeAgent": "echo",
    "modelConfig": {
      "modelId": "large", "temperature": 0.5, "reasoning": "high", "verbosity": "low"
    },
    "skills": {"version": 2, "hash": "abc"}, "persona": {"version": 1, "hash": "def"},
    "approvalMode": "auto-edit", "displayName": "A name", "titleSource": "auto",
    "currentCwd": "/workspace/src", "budgetMicro": 5000
  },
  "phase": "Active",
  "connection": {
    "turn": {
      "turnId": "t1", "hasOutput": true,
      "pendingToolCalls": [["call-2", {"toolName": "Edit", "startedAt": 2600}]],
      "completedToolIds": ["call-1"], "persistedToolCallIds": ["call-1", "call-2"],
      "openAsks": [{
        "requestId": "a2", "kind": "permission",
        "toolCall": {"toolCallId": "call-2", "title": "gh pr"},
        "options": [{"optionId": "yes", "kind": "allow_once"}],
        "keys": ["edit:/a.ts"], "covers": ["edit:/c.ts"], "tier": "write",
        "access": {"action": "write", "path": "/a.ts"},
        "mediation": {
          "policy": "consensus", "designated": "client c1",
          "voters": ["client c1", "client c2"], "quorum": 2
        },
        "votes": [["client c2", "yes"]], "askedAtMs": 2700, "deadlineAtMs": 8000
      }],
      "currentReservation": {
        "turnId": "t1", "reservedMicro": 700, "slices": 2,
        "price": {
          "input": 1, "output": 2, "cachedRead": 3, "cachedWrite": 4, "thought": 5, "perTurn": 6
        },
        "spentMicro": 7
      },
      "lastContextUsage": {
        "model": "large", "used": 10, "size": null,
        "tokens": {"input": 1, "output": 2, "cachedRead": 3, "cachedWrite": 4, "thought": 5}
      },
      "children": [{
        "childId": "k1", "callId": "call-3", "title": "Look around", "agent": "chat",
        "model": "small", "startedAtMs": 2650, "deadlineAtMs": 9500,
        "rules": {
          "autonomyProfile": "supervised", "isPlanning": false, "grants": ["edit:/b.ts"],
          "readOnly": true
        },
        "permits": [
          {"requestId": "a3", "toolCallId": "k1/c", "keys": ["read:/a"], "allowed": true}
        ],
        "openCalls": ["k1/c"], "hasWorked": true, "price": null, "usage": null,
        "spentMicro": 0, "ended": null
      }]
    },
    "sessionState": "waiting",
    "sessionGrants": [["edit:/b.ts", "write"]], "autonomyProfile": "balanced",
    "agentMode": "plan", "sandboxState": "ready", "sandboxProvisionedAt": 1500,
    "lastSandboxActivity": 2600
  },
  "running": {
    "promptId": "p1", "text": "go", "content": [{"type": "text", "text": "go"}],
    "clientId": "c1", "userId": null, "deadlineAtMs": null, "admittedAtMs": 2000,
    "params": null, "echo": true, "waited": false, "turnId": "t1", "startedAtMs": 2001,
    "stopCause": null, "stopAskedAtMs": null, "steeredIds": ["m7"], "shellContext": ["$ ls"],
    "permits": [
      {"requestId": "a1", "toolCallId": "call-1", "keys": ["execute:ls"], "allowed": true}
    ],
    "stamp": {"promptId": "p1", "originatorClientId": "c1"}, "slash": "skill"
  },
  "queue": [{
    "promptId": "p2", "text": "and then?", "content": [{"type": "text", "text": "and then?"}],
    "clientId": null, "userId": null, "deadlineAtMs": 9000, "admittedAtMs": 2500,
    "params": {"_meta": {"trace": [1, null]}}, "echo": true, "waited": true
  }],
  "clients": [["c1", {"count": 1, "userId": null}], ["c2", {"count": 2, "userId": null}]],
  "admissions": [
    ["k1", {"hash": "h", "answer": {"promptId": "p1", "lastEventId": 7}, "atMs": 2000}],
    ["k2", {"hash": "i", "answer": {"shellId": "sh1"}, "atMs": 2100}]
  ],
  "voidGrants": ["execute:Bash"],
  "resolvedAsks": [
    ["a0", {"outcome": "cancelled"}], ["a1", {"outcome": "selected", "optionId": "no"}]
  ],
  "shellContext": ["$ pwd"],
  "shells": [["sh1", {"command": "make", "clientId": null, "startedAtMs": 2100}]],
  "activation": 3, "ending": null, "closed": false, "agentSessionId": "agent-1",
  "agentUntold": false, "instructed": {"skills": "abc", "persona": "def"},
  "surroundings": {
    "agent": "echo 1.0", "model": "large", "skills": "abc", "persona": null,
    "mcpServers": ["files 1a"]
  },
  "lastTurnError": null, "lastVerdictAtMs": 1900,
  "totals": {
    "promptCount": 3, "turnsCompleted": 1, "turnsFailed": 0, "toolCalls": 2, "toolFailures": 0,
    "chargedMicro": 30,
    "tokensByModel": [
      ["large", {"input": 1, "output": 2, "cachedRead": 3, "cachedWrite": 4, "thought": 5}]
    ]
  }
}`;

/** One that has as little as possible, and is being closed. */
export const CLOSING: Session = {
  ...WAITING,
  fixed: { ...WAITING.fixed, allowlist: [], source: null, parentSessionId: null },
  chosen: {
    ...WAITING.chosen,
    modelConfig: { modelId: null },
    displayName: null,
    titleSource: null,
    budgetMicro: null,
  },
  phase: "Persisted",
  connection: {
    turn: EMPTY_TURN,
    sessionState: "deactivating",
    sessionGrants: new Map(),
    autonomyProfile: "manual",
    agentMode: null,
    sandboxState: "none",
    sandboxProvisionedAt: null,
    lastSandboxActivity: null,
  },
  running: null,
  queue: [],
  clients: new Map(),
  admissions: new Map(),
  voidGrants: [],
  resolvedAsks: new Map(),
  shellContext: [],
  shells: new Map(),
  ending: { reason: "client_close", closedBy: clientId("c1") },
  agentSessionId: null,
  agentUntold: true,
  instructed: null,
  surroundings: null,
  lastTurnError: { code: "channel_closed", message: "gone" },
  lastVerdictAtMs: null,
  totals: { ...WAITING.totals, tokensByModel: new Map() },
};

export const CLOSING_TEXT = `{
  "sessionId": "s1",
  "fixed": {
    "workspaceCwd": "/workspace", "scope": "thread", "securityMode": "allowlist",
    "allowlist": [], "storeId": "sqlite", "source": null, "parentSessionId": null,
    "createdAtMs": 1000
  },
  "chosen": {
    "activeAgent": "echo", "modelConfig": {"modelId": null},
    "skills": {"version": 2, "hash": "abc"}, "persona": {"version": 1, "hash": "def"},
    "approvalMode": "auto-edit", "displayName": null, "titleSource": null,
    "currentCwd": "/workspace/src", "budgetMicro": null
  },
  "phase": "Persisted",
  "connection": {
    "turn": null, "sessionState": "deactivating", "sessionGrants": [],
    "autonomyProfile": "manual", "agentMode": null, "sandboxState": "none",
    "sandboxProvisionedAt": null, "lastSandboxActivity": null
  },
  "running": null, "queue": [], "clients": [], "admissions": [], "voidGrants": [],
  "resolvedAsks": [],
  "shellContext": [], "shells": [], "activation": 3,
  "ending": {"reason": "client_close", "closedBy": "c1"}, "closed": false,
  "agentSessionId": null, "agentUntold": true, "instructed": null, "surroundings": null,
  "lastTurnError": {"code": "channel_closed", "message": "gone"},
  "lastVerdictAtMs": null,
  "totals": {
    "promptCount": 3, "turnsCompleted": 1, "turnsFailed": 0, "toolCalls": 2, "toolFailures": 0,
    "chargedMicro": 30, "tokensByModel": []
  }
}`;
