import { describe, expect, it } from "vitest";
import type { Access } from "../../policy/access.ts";
import type { Bound } from "../../policy/bound.ts";
import { ceilingOf, DEFAULT_POLICY, type RolePolicy } from "../../policy/ceiling.ts";
import type { WorkflowOpinion } from "../../policy/gate.ts";
import type { SecurityMode } from "../../policy/risk.ts";
import { AGENT, askId, dataOf, Life, newAsk } from "../life.fixture.ts";

/** The ceiling of a member, by the policy of the tenant's owners. */
function boundBy(policy: Partial<RolePolicy>): Bound {
  const anyone = { voters: true, owners: true };
  const authority = { role: "member", isMember: true } as const;
  const ceiling = { ...ceilingOf(DEFAULT_POLICY, "member"), ...policy };
  return { ceiling, authority, anyone, others: anyone };
}

const COMMAND = { toolCallId: "call", kind: "execute", title: "Run", rawInput: { command: "ls" } };
const RUN: Access = { action: "terminal", command: "ls", cwd: "/w" };

interface Wanted {
  readonly workflow: WorkflowOpinion;
  readonly policy: Partial<RolePolicy> | null;
  readonly securityMode?: SecurityMode;
}

/** What becomes of a command that the agent asks for. */
function asked({ workflow, policy, securityMode = "ask" }: Wanted): string {
  const life = new Life().running({ securityMode });
  const bound = policy && { bound: boundBy(policy) };
  const { events } = life.give(
    "ask",
    { ...newAsk("a1", { toolCall: COMMAND, workflow }), ...bound },
    AGENT,
  );
  const [decided] = dataOf(events, "permission_decided");
  if (decided !== undefined) return `${decided.allowed ? "allowed" : "denied"} by ${decided.gate}`;
  return dataOf(events, "permission_request").length === 1 ? "people" : "nothing";
}

/** What becomes of one that it has the server run, and has not asked about. */
function accessed({ workflow, policy, securityMode = "ask" }: Wanted): string {
  const life = new Life().running({ securityMode });
  const mediation = { policy: "first-responder", quorum: null, present: [] } as const;
  const about = { requestId: askId("x1"), access: RUN, workflow, ...mediation };
  const bound = policy && { bound: boundBy(policy) };
  const { events } = life.give("access", { ...about, deadlineAtMs: null, ...bound }, AGENT);
  const [decided] = dataOf(events, "agent_access");
  if (decided !== undefined) return `${decided.allowed ? "allowed" : "denied"} by ${decided.by}`;
  return dataOf(events, "permission_request").length === 1 ? "people" : "nothing";
}

const CAREFUL = { mode: "ask", autonomy: "manual" } as const;
const NO_SELF_APPROVAL = { mode: "yolo", autonomy: "autonomous", selfApproval: false } as const;
const OPEN = { mode: "yolo", autonomy: "autonomous", selfApproval: true } as const;

describe.each([
  ["asks for", asked],
  ["makes", accessed],
])("P8: what a stage says to a call that its agent %s", (_, fate) => {
  it.each<[string, Partial<RolePolicy> | null, string]>([
    ["lets it through without a policy", null, "allowed by workflow"],
    ["lets it through where the policy does", OPEN, "allowed by workflow"],
    ["counts as `defer` above the mode of the policy", CAREFUL, "people"],
    ["counts as `defer` above its autonomy", { mode: "allowlist", autonomy: "balanced" }, "people"],
    ["counts as `defer` for a user who may not approve alone", NO_SELF_APPROVAL, "people"],
  ])("approval %s", (_, policy, expected) => {
    expect(fate({ workflow: "approve", policy })).toBe(expected);
  });

  it("approval counts as `defer` also in a session in mode yolo", () => {
    expect(fate({ workflow: "approve", policy: CAREFUL, securityMode: "yolo" })).toBe("people");
  });

  it.each<SecurityMode>(["ask", "allowlist", "yolo"])("denial holds in mode %s", (securityMode) => {
    for (const policy of [null, OPEN, CAREFUL]) {
      expect(fate({ workflow: "deny", policy, securityMode })).toBe("denied by workflow");
    }
  });
});
