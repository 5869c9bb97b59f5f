import { describe, expect, it } from "vitest";
import { ASKS_OPEN_MAX, ASKS_RESOLVED_MAX } from "../../limits.ts";
import type { Actor, NewAsk } from "../command.ts";
import {
  AGENT,
  askId,
  client,
  clientId,
  dataOf,
  Life,
  newAsk,
  newPrompt,
  noCredit,
  steps,
  types,
  verdictOn,
} from "../life.fixture.ts";

const yes = { outcome: "selected", optionId: "yes" } as const;
const no = { outcome: "selected", optionId: "no" } as const;
const cancelled = { outcome: "cancelled" } as const;

const vote = (
  life: Life,
  actor: Actor,
  outcome: typeof yes | typeof no | typeof cancelled,
  id = "a1",
) => life.give("vote", { requestId: askId(id), outcome }, actor);

/** A session with `c1` (whose prompt runs), `c2` and `c3` attached, and one ask open. */
function asked(more: Partial<NewAsk>): Life {
  const life = new Life().ready().attached("c1", "c2", "c3");
  life.give("prompt", PROMPT, client("c1"));
  life.give("ask", newAsk("a1", { present: ["c1", "c2", "c3"].map(clientId), ...more }), AGENT);
  return life;
}

const LOCAL = { kind: "client", clientId: clientId("c2"), userId: null, loopback: true } as const;

const PROMPT = { ...newPrompt("p1"), start: noCredit("t1") };

describe("an ask", () => {
  it("waits for people, with everything they need to decide", () => {
    const life = asked({});
    expect(steps(life.log).at(-1)).toBe("running > waiting");
    expect(dataOf(life.log, "permission_request")).toMatchObject([
      {
        requestId: "a1",
        toolCall: { kind: "edit" },
        keys: ["edit:/a.ts"],
        tier: "write",
        mediation: {
          policy: "first-responder",
          designated: "client c1",
          voters: ["client c1", "client c2", "client c3"],
        },
      },
    ]);
    expect(life.view.pendingApproval).toBe(true);
  });

  it("that a gate can answer is decided without waiting, and says which gate", () => {
    const life = new Life().running({ securityMode: "yolo" });
    const { events } = life.give("ask", newAsk("a1"), AGENT);
    expect(dataOf(events, "permission_decided")).toMatchObject([
      { requestId: "a1", gate: "security_mode", outcome: yes },
    ]);
    expect(life.state).toBe("running");
  });

  it("goes on only when the last of several is answered", () => {
    const life = asked({});
    life.give("ask", newAsk("a2"), AGENT);
    expect(steps(vote(life, client("c1"), yes).events)).toEqual([]);
    expect(steps(vote(life, client("c1"), yes, "a2").events)).toEqual(["waiting > running"]);
  });

  it("that only names its call is judged by what was said of the call before", () => {
    const life = new Life().running({ securityMode: "allowlist", allowlist: ["edit:/a.ts"] });
    const known = { kind: "edit", title: "Edit", locations: [{ path: "/a.ts" }] };
    const sparse = newAsk("a1", { toolCall: { toolCallId: "c", kind: null }, known });
    const { events } = life.give("ask", sparse, AGENT);
    expect(dataOf(events, "permission_decided")).toMatchObject([
      { tier: "write", gate: "security_mode", outcome: yes, toolCall: { toolCallId: "c" } },
    ]);
  });

  it("may be a question, which no gate answers", () => {
    const life = new Life().running({ securityMode: "yolo" });
    life.give("ask", newAsk("a1", { kind: "user_question" }), AGENT);
    expect(life.state).toBe("waiting");
    expect(life.view.pendingApproval).toBe(false);
    const answers = { city: "Bern" };
    const { events } = life.give("vote", { requestId: askId("a1"), outcome: cancelled, answers });
    expect(dataOf(events, "permission_resolved")).toMatchObject([{ answers }]);
  });

  it("that reaches out to GitHub is marked as such while it is open", () => {
    const life = new Life().running();
    life.give("ask", newAsk("a1", { toolCall: { title: "gh pr create", kind: "execute" } }), AGENT);
    expect(life.view.pendingGitHubAction).toEqual({ requestId: "a1", title: "gh pr create" });
    vote(life, client(null), cancelled);
    expect(life.view.pendingGitHubAction).toBeNull();
  });

  const bad: readonly (readonly [string, Partial<NewAsk>, string])[] = [
    ["without options", { options: [] }, "invalid_ask"],
    ["with an empty option id", { options: [{ optionId: "" }] }, "invalid_ask"],
    ["with an endless option id", { options: [{ optionId: "x".repeat(257) }] }, "invalid_ask"],
    ["with a deadline that never comes", { deadlineAtMs: Number.NaN }, "invalid_ask"],
    ["with one id twice", { options: [{ optionId: "a" }, { optionId: "a" }] }, "invalid_ask"],
    [
      "with the reserved option",
      { options: [{ optionId: "__cancelled__" }] },
      "cancel_sentinel_collision",
    ],
  ];
  for (const [what, change, code] of bad) {
    it(`${what} is refused`, () => {
      expect(verdictOn(new Life().running().give("ask", newAsk("a1", change), AGENT))).toBe(code);
    });
  }

  it("outside a turn is out of turn", () => {
    const life = new Life().running();
    life.complete("t1");
    expect(verdictOn(life.give("ask", newAsk("a1"), AGENT))).toBe("agent_out_of_turn");
  });

  it("P10: is the sixty-fifth at most once", () => {
    const life = new Life().running();
    for (let n = 0; n < ASKS_OPEN_MAX; n += 1) life.give("ask", newAsk(`a${n}`), AGENT);
    expect(verdictOn(life.give("ask", newAsk("more"), AGENT))).toBe("ask_limit_exceeded");
  });
});

describe("a vote", () => {
  it("resolves the ask, names its voter, and sets the turn going again", () => {
    const life = asked({});
    const decision = vote(life, client("c2"), yes);
    expect(decision.events[0]).toMatchObject({
      type: "permission_resolved",
      promptId: "p1",
      originatorClientId: "c2",
      data: { requestId: "a1", outcome: yes, voterClientId: "c2", reason: "vote" },
    });
    expect(steps(decision.events)).toEqual(["waiting > running"]);
  });

  it("that comes late is refused, and everybody is told how it had ended", () => {
    const life = asked({});
    vote(life, client("c1"), no);
    const late = vote(life, client("c2"), yes);
    expect(verdictOn(late)).toBe("ask_already_resolved");
    expect(dataOf(late.events, "permission_already_resolved")).toMatchObject([{ outcome: no }]);
  });

  it("is checked in the wire's order", () => {
    const life = asked({ policy: "designated" });
    const sentinel = { outcome: "selected", optionId: "__cancelled__" } as const;
    const other = { outcome: "selected", optionId: "other" } as const;
    const codes = (actor: Actor, outcome: typeof sentinel | typeof other, id: string) =>
      verdictOn(life.give("vote", { requestId: askId(id), outcome }, actor));
    expect(codes(client("nobody"), sentinel, "unknown")).toBe("ask_not_found");
    expect(codes(client("nobody"), sentinel, "a1")).toBe("invalid_client_id");
    expect(codes(client("c2"), sentinel, "a1")).toBe("invalid_option_id");
    expect(codes(client("c2"), other, "a1")).toBe("invalid_option_id");
    expect(verdictOn(vote(life, client("c2"), yes))).toBe("permission_forbidden");
    expect(verdictOn(vote(life, client("c1"), yes))).toBe("accepted");
    expect(codes(client("c2"), sentinel, "a1")).toBe("invalid_option_id");
    expect(codes(client("c2"), other, "a1")).toBe("ask_already_resolved");
  });

  it("that is forbidden is told to everybody, with its reason", () => {
    const life = asked({ policy: "local-only" });
    const remote: Actor = { ...LOCAL, loopback: false };
    const decision = vote(life, remote, yes);
    expect(dataOf(decision.events, "permission_forbidden")).toMatchObject([
      { requestId: "a1", clientId: "c2", reason: "remote_not_allowed" },
    ]);
    expect(verdictOn(vote(life, remote, cancelled))).toBe("accepted");
  });

  it("towards a consensus is counted once for each voter", () => {
    const life = asked({ policy: "consensus" });
    const first = vote(life, client("c1"), yes);
    expect(dataOf(first.events, "permission_partial_vote")).toMatchObject([
      { votesReceived: 1, votesNeeded: 1, quorum: 2, optionTallies: { yes: 1 } },
    ]);
    expect(vote(life, client("c1"), yes).events).toEqual([]);
    expect(types(vote(life, client("c2"), no))).toEqual(["permission_partial_vote"]);
    expect(types(vote(life, client("c3"), no))).toEqual(["permission_resolved", "session_status"]);
  });

  it("counts only clients that were present when the ask was made", () => {
    const life = asked({ policy: "consensus", present: [clientId("c1")] });
    expect(verdictOn(vote(life, client("c2"), yes))).toBe("permission_forbidden");
    expect(verdictOn(vote(life, client("c1"), yes))).toBe("accepted");
  });

  it("P10: of the past is remembered 512 asks long", () => {
    const life = new Life().running();
    for (let n = 0; n <= ASKS_RESOLVED_MAX; n += 1) {
      life.give("ask", newAsk(`a${n}`), AGENT);
      vote(life, client(null), cancelled, `a${n}`);
    }
    expect(life.now.resolvedAsks.size).toBe(ASKS_RESOLVED_MAX);
    expect(verdictOn(vote(life, client(null), yes, "a0"))).toBe("ask_not_found");
    expect(verdictOn(vote(life, client(null), yes, "a1"))).toBe("ask_already_resolved");
  });
});

describe("an ask to write where the server lets no agent write", () => {
  it("P4: is refused before people are asked, even if everything may happen", () => {
    for (const securityMode of ["ask", "yolo"] as const) {
      const life = new Life().running({ securityMode });
      const { events } = life.give("ask", newAsk("a1", { outside: "/etc/hosts" }), AGENT);
      expect(dataOf(events, "permission_decided")).toMatchObject([
        { gate: "workspace", allowed: false, outcome: { outcome: "selected", optionId: "no" } },
      ]);
      expect(life.state).toBe("running");
    }
  });
});

describe("a lasting permission", () => {
  const always = { outcome: "selected", optionId: "always" } as const;

  it("is a grant of this session: the same need does not ask again, a greater one does", () => {
    const life = asked({});
    life.give("vote", { requestId: askId("a1"), outcome: always }, client("c1"));
    expect(life.now.connection.sessionGrants).toEqual(new Map([["edit:/a.ts", "write"]]));
    const again = life.give("ask", newAsk("a2"), AGENT);
    expect(dataOf(again.events, "permission_decided")).toMatchObject([{ gate: "grant" }]);
    const locations = [{ path: "/a.ts" }, { path: "/b.ts" }];
    life.give("ask", newAsk("a3", { toolCall: { kind: "edit", locations } }), AGENT);
    expect(life.state).toBe("waiting");
  });

  it("can be taken back", () => {
    const life = asked({});
    life.give("vote", { requestId: askId("a1"), outcome: always }, client("c1"));
    expect(types(life.give("revoke_grant", { key: "edit:/a.ts" }))).toEqual([
      "session_grant_revoked",
    ]);
    expect(verdictOn(life.give("revoke_grant", { key: "edit:/a.ts" }))).toBe("grant_not_found");
    life.give("ask", newAsk("a2"), AGENT);
    expect(life.state).toBe("waiting");
  });
});
