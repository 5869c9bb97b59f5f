import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { MEDIATION_POLICIES, type MediationPolicy } from "../../policy/ask.ts";
import type { Bound } from "../../policy/bound.ts";
import { ceilingOf, DEFAULT_POLICY } from "../../policy/ceiling.ts";
import type { Actor } from "../command.ts";
import {
  AGENT,
  askId,
  clientId,
  dataOf,
  Life,
  newAsk,
  newPrompt,
  noCredit,
  SERVER,
  userId,
} from "../life.fixture.ts";

const yes = { outcome: "selected", optionId: "yes" } as const;

/** A user at one of their clients; without a user before there were tokens. */
function at(client: string | null, user: string | null, loopback = true): Actor {
  const named = client === null ? null : clientId(client);
  return { kind: "client", clientId: named, userId: parseUserId(user ?? ""), loopback };
}

type Registered = readonly (readonly [client: string, user: string | null])[];

/** An ask of the prompt that the first of these has sent, with all of them there. */
function asked(policy: MediationPolicy, registered: Registered, by?: Actor): Life {
  const life = new Life().ready();
  for (const [client, user] of registered) {
    life.give("attach", { clientId: clientId(client), idle: [] }, at(client, user));
  }
  const [first = ["", null]] = registered;
  life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, by ?? at(...first));
  const present = registered.map(([client]) => clientId(client));
  life.give("ask", newAsk("a1", { policy, present }), AGENT);
  return life;
}

const vote = (life: Life, actor: Actor) =>
  life.give("vote", { requestId: askId("a1"), outcome: yes }, actor);

/** What came of a vote: `resolved`, `counted`, `repeated`, or why it was refused. */
function fate(life: Life, actor: Actor): string {
  const decision = vote(life, actor);
  if (decision.kind === "refused") return decision.refusal.details.reason?.toString() ?? "";
  if (dataOf(decision.events, "permission_resolved").length > 0) return "resolved";
  return decision.events.length > 0 ? "counted" : "repeated";
}

const mismatch = "designated_mismatch";
const remote = "remote_not_allowed";

describe("P5: an ask that none of its voters can decide goes to the owners (design, 12)", () => {
  const TWO: Registered = [
    ["tab-1", null],
    ["tab-2", null],
  ];
  const leaves = (life: Life, client: string) =>
    life.give("detach", { clientId: clientId(client) }, at(client, null));
  const owned = (life: Life) => [...life.turn.openAsks.values()].map((ask) => ask.mediation.owners);
  const open = (life: Life) => ({ state: life.state, owned: owned(life) });

  it("designated: when the client of the prompt leaves; an absent one is waited for", () => {
    const life = asked("designated", TWO);
    expect(fate(life, at("tab-2", null))).toBe(mismatch);
    expect(dataOf(leaves(life, "tab-1").events, "permission_voter_left")).toMatchObject([
      { requestId: "a1", left: ["client tab-1"], owners: true },
    ]);
    expect(open(life)).toEqual({ state: "waiting", owned: [true] });
    expect(fate(life, at("tab-2", null))).toBe("resolved");
  });

  it("designated: when the client of the prompt has left before the agent asks", () => {
    const life = new Life().ready().attached("tab-1");
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, at("tab-1", null));
    leaves(life, "tab-1");
    life.give("ask", newAsk("a1", { policy: "designated", present: [] }), AGENT);
    expect(open(life)).toEqual({ state: "waiting", owned: [true] });
    expect(fate(life, at(null, null))).toBe("resolved");
  });

  it("designated: an expired client has left, and one that is registered twice has not", () => {
    const life = asked("designated", TWO);
    life.give("attach", { clientId: clientId("tab-1"), idle: [] }, at("tab-1", null));
    leaves(life, "tab-1");
    expect(owned(life)).toEqual([undefined]);
    life.give("client_expiry", { clientId: clientId("tab-1") }, SERVER);
    expect(owned(life)).toEqual([true]);
  });

  it("consensus: when no client is there as the agent asks", () => {
    const life = new Life().running();
    life.give("ask", newAsk("a1", { policy: "consensus", present: [] }), AGENT);
    expect(open(life)).toEqual({ state: "waiting", owned: [true] });
    expect(fate(life, at(null, null))).toBe("resolved");
  });

  it("consensus: when the voters cannot agree any more; until then the owners wait too", () => {
    const life = asked("consensus", [...TWO, ["tab-3", null]]);
    const says = (client: string, optionId: string) => {
      const outcome = { outcome: "selected", optionId } as const;
      const ballot = { requestId: askId("a1"), outcome };
      return dataOf(life.give("vote", ballot, at(client, null)).events, "permission_partial_vote");
    };
    expect(says("tab-1", "yes")[0]).not.toHaveProperty("owners");
    expect(says("tab-2", "no")[0]).not.toHaveProperty("owners");
    expect(fate(life, at(null, null))).toBe(mismatch);
    expect(says("tab-3", "always")).toMatchObject([{ owners: true, votesReceived: 3 }]);
    expect(open(life)).toEqual({ state: "waiting", owned: [true] });
    expect(fate(life, at(null, null))).toBe("resolved");
  });

  it("consensus: when all voters have left; those who stay decide, as many as before", () => {
    const life = asked("consensus", [...TWO, ["tab-3", null]]);
    leaves(life, "tab-3");
    expect([...life.turn.openAsks.values()][0]?.mediation).toMatchObject({ quorum: 2 });
    expect(fate(life, at("tab-1", null))).toBe("counted");
    const { events } = leaves(life, "tab-2");
    expect(dataOf(events, "permission_resolved")).toMatchObject([{ outcome: yes, reason: "vote" }]);

    const empty = asked("consensus", TWO);
    leaves(empty, "tab-1");
    leaves(empty, "tab-2");
    expect(open(empty)).toEqual({ state: "waiting", owned: [true] });
    expect(fate(empty, at(null, null))).toBe("resolved");
  });

  it.each(["first-responder", "local-only"] as const)(
    "%s: never, since a person may come back tomorrow",
    (policy) => {
      const life = asked(policy, TWO);
      for (const client of ["tab-1", "tab-2"]) leaves(life, client);
      expect(open(life)).toEqual({ state: "waiting", owned: [undefined] });
      expect(fate(life, at(null, null, false))).toBe(policy === "local-only" ? remote : "resolved");
      if (policy === "local-only") expect(fate(life, at(null, null))).toBe("resolved");
    },
  );
});

describe("P5: where users have tokens, an ask", () => {
  const member = { role: "member", isMember: true } as const;
  const bound: Bound = {
    ceiling: ceilingOf(DEFAULT_POLICY, "member"),
    authority: member,
    anyone: { voters: true, owners: true },
    others: { voters: false, owners: false },
  };
  const viewer = { role: "viewer", isMember: true } as const;
  const LOST: Bound = { ...bound, ceiling: ceilingOf(DEFAULT_POLICY, null), authority: viewer };
  const as = (user: string, role: "owner" | "member"): Actor => {
    return { kind: "client", clientId: null, userId: userId(user), role, loopback: true };
  };

  function askedUnder(policy: MediationPolicy, by: Bound, kind: "permission" | "user_question") {
    const life = new Life().ready();
    life.give("attach", { clientId: clientId("ada-1"), idle: [] }, at("ada-1", "ada"));
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, at("ada-1", "ada"));
    const ask = { ...newAsk("a1", { policy, present: [], kind }), bound: by };
    life.give("ask", ask, AGENT);
    return life;
  }

  it.each(MEDIATION_POLICIES)("waits for its user, who is away: %s", (policy) => {
    const life = askedUnder(policy, bound, "permission");
    expect(life.state).toBe("waiting");
    expect(fate(life, as("ada", policy === "consensus" ? "owner" : "member"))).toBe("resolved");
  });

  it.each(["designated", "consensus"] as const)(
    "of a user who has no vote any more is the owners', a question too: %s",
    (policy) => {
      const people = { voters: true, owners: true };
      const life = askedUnder(policy, { ...LOST, others: people }, "user_question");
      expect(fate(life, as("mel", "member"))).toBe(mismatch);
      expect(fate(life, as("olga", "owner"))).toBe("resolved");
    },
  );

  it.each(["designated", "consensus"] as const)("is cancelled without an owner: %s", (policy) => {
    const none = { ...LOST, anyone: { voters: true, owners: false } };
    const life = askedUnder(policy, none, "user_question");
    expect(dataOf(life.log, "permission_resolved")).toMatchObject([
      { requestId: "a1", outcome: { outcome: "cancelled" }, reason: "no_voter" },
    ]);
    expect(life.state).toBe("running");
  });

  it.each(["first-responder", "local-only"] as const)(
    "is cancelled if the tenant has nobody who may vote: %s",
    (policy) => {
      const none = { ...LOST, anyone: { voters: false, owners: false } };
      const life = askedUnder(policy, none, "user_question");
      expect(dataOf(life.log, "permission_resolved")).toMatchObject([{ reason: "no_voter" }]);
    },
  );

  it("a split vote without an owner is cancelled by the vote that splits it", () => {
    const life = asked("consensus", [
      ["ada-1", "ada"],
      ["bob-1", "bob"],
    ]);
    const none = { ...bound, anyone: { voters: true, owners: false } };
    for (const [user, optionId] of [
      ["ada", "yes"],
      ["bob", "no"],
    ] as const) {
      const outcome = { outcome: "selected", optionId } as const;
      const ballot = { requestId: askId("a1"), outcome, bound: none };
      life.give("vote", ballot, as(user, "member"));
    }
    expect(dataOf(life.log, "permission_resolved")).toMatchObject([{ reason: "no_voter" }]);
  });
});
