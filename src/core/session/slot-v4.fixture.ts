/**
 * The format of version 4, written by hand and never to be changed: such texts are stored. The
 * sessions of version 5 are in them, without their children.
 */

export const WAITING_TEXT_V4 = `{
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
      }
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

export const CLOSING_TEXT_V4 = `{
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
