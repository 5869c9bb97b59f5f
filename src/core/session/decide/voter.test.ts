import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { type AskOutcome, MEDIATION_POLICIES, type MediationPolicy } from "../../policy/ask.ts";
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
  types,
  userId,
  verdictOn,
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

const TWO_TABS: Registered = [
  ["ada-1", "ada"],
  ["ada-2", "ada"],
  ["bob-1", "bob"],
];

const mismatch = "designated_mismatch";
const remote = "remote_not_allowed";

describe("a vote, by who is behind it (design, 8)", () => {
  it.each<[MediationPolicy, string | null, string, boolean, string]>([
    ["first-responder", "ada-1", "ada", true, "resolved"],
    ["first-responder", "bob-1", "bob", false, "resolved"],
    ["first-responder", null, "cleo", false, "resolved"],
    ["designated", "ada-1", "ada", true, "resolved"],
    ["designated", "ada-2", "ada", false, "resolved"],
    ["designated", null, "ada", false, "resolved"],
    ["designated", "bob-1", "bob", true, mismatch],
    ["designated", null, "cleo", true, mismatch],
    ["consensus", "ada-1", "ada", true, "counted"],
    ["consensus", "ada-2", "ada", false, "counted"],
    ["consensus", null, "ada", false, "counted"],
    ["consensus", "bob-1", "bob", true, "counted"],
    ["consensus", null, "cleo", true, mismatch],
    ["local-only", "ada-1", "ada", true, "resolved"],
    ["local-only", "bob-1", "bob", true, "resolved"],
    ["local-only", null, "cleo", true, "resolved"],
    ["local-only", "ada-1", "ada", false, remote],
    ["local-only", null, "cleo", false, remote],
  ])("under %s from client %s of %s (loopback: %s) is %s", (policy, client, user, near, what) => {
    expect(fate(asked(policy, TWO_TABS), at(client, user, near))).toBe(what);
  });

  it.each(MEDIATION_POLICIES)(
    "under %s is nobody's under a client of somebody else's",
    (policy) => {
      expect(verdictOn(vote(asked(policy, TWO_TABS), at("ada-1", "bob")))).toBe(
        "invalid_client_id",
      );
    },
  );

  it("towards a consensus counts users: two tabs of one are one voter, and one vote", () => {
    const life = asked("consensus", TWO_TABS);
    expect(dataOf(life.log, "permission_request")).toMatchObject([
      { mediation: { voters: ["user ada", "user bob"], quorum: 2, designated: "user ada" } },
    ]);
    expect(fate(life, at("ada-1", "ada"))).toBe("counted");
    expect(fate(life, at("ada-2", "ada"))).toBe("repeated");
    expect(fate(life, at(null, "ada"))).toBe("repeated");
    expect(fate(life, at("bob-1", "bob"))).toBe("resolved");
    expect(dataOf(life.log, "permission_partial_vote")).toMatchObject([
      { voter: "user ada", voterClientId: "ada-1", voterUserId: "ada" },
    ]);
  });
});

describe("a client that was registered before there were users", () => {
  const OLD: Registered = [
    ["old-1", null],
    ["old-2", null],
    ["bob-1", "bob"],
  ];

  it("belongs to the first user who speaks through it, and to nobody else", () => {
    const life = asked("first-responder", OLD, at("old-1", "ada"));
    expect(life.now.clients.get(clientId("old-1"))).toMatchObject({ userId: "ada" });
    expect(verdictOn(vote(life, at("old-1", "bob")))).toBe("invalid_client_id");
    expect(fate(life, at("old-2", "cleo"))).toBe("resolved");
    expect(life.now.clients.get(clientId("old-2"))).toMatchObject({ userId: "cleo" });
  });

  it("votes in its user's name: whose prompt it was is the same one at another client", () => {
    const life = asked("designated", OLD, at("old-1", "ada"));
    expect(fate(life, at("bob-1", "bob"))).toBe(mismatch);
    expect(fate(life, at("old-2", "ada"))).toBe("resolved");
  });

  it("votes for its own prompt of before, whoever has it now", () => {
    const life = asked("designated", OLD);
    expect(fate(life, at("bob-1", "bob"))).toBe(mismatch);
    expect(fate(life, at("old-1", "ada"))).toBe("resolved");
  });

  it("gives its user no second vote in a consensus", () => {
    const life = asked("consensus", OLD, at("bob-1", "bob"));
    expect(dataOf(life.log, "permission_request")).toMatchObject([
      { mediation: { voters: ["client old-1", "client old-2", "user bob"], quorum: 2 } },
    ]);
    expect(fate(life, at("old-1", "ada"))).toBe("counted");
    expect(fate(life, at("old-2", "ada"))).toBe("repeated");
    expect(fate(life, at(null, "ada"))).toBe("repeated");
    expect(verdictOn(vote(life, at("old-1", "cleo")))).toBe("invalid_client_id");
    expect(fate(life, at("bob-1", "bob"))).toBe("resolved");
  });

  it("keeps its own name as long as nobody with a name of theirs uses it", () => {
    const life = asked("consensus", OLD);
    expect(fate(life, at("old-1", null))).toBe("counted");
    expect(fate(life, at("old-1", null))).toBe("repeated");
    expect(fate(life, at("old-2", null))).toBe("resolved");
  });
});

describe("a voter who is gone", () => {
  const no = { outcome: "selected", optionId: "no" } as const;
  const always = { outcome: "selected", optionId: "always" } as const;

  const goes = (life: Life, user: string, quorum: number | null = null) =>
    life.give("voter_gone", { userId: userId(user), quorum }, SERVER);

  function votes(life: Life, user: string, outcome: AskOutcome) {
    life.give("vote", { requestId: askId("a1"), outcome }, at(null, user));
  }

  const people = (...names: string[]): Registered => names.map((name) => [`${name}-1`, name]);

  it("is not waited for: the one who stays has decided by the vote that was given", () => {
    const life = asked("consensus", people("ada", "bob"));
    votes(life, "ada", yes);
    const { events } = goes(life, "bob");
    expect(dataOf(events, "permission_voter_left")).toEqual([
      {
        sessionId: life.now.sessionId,
        requestId: "a1",
        left: ["user bob"],
        votesReceived: 1,
        votesNeeded: 0,
        quorum: 1,
        optionTallies: { yes: 1 },
      },
    ]);
    expect(dataOf(events, "permission_resolved")).toMatchObject([
      { requestId: "a1", outcome: yes, reason: "vote" },
    ]);
    expect(life.state).toBe("running");
  });

  it("leaves the one who stays to decide alone", () => {
    const life = asked("consensus", people("ada", "bob"));
    expect(types(goes(life, "bob"))).toEqual(["permission_voter_left"]);
    expect(life.state).toBe("waiting");
    expect(fate(life, at("bob-1", "bob"))).toBe(mismatch);
    expect(fate(life, at("ada-1", "ada"))).toBe("resolved");
  });

  it("takes along what they have voted: nobody else is outvoted by it", () => {
    const life = asked("consensus", people("ada", "bob"));
    votes(life, "bob", yes);
    expect(dataOf(goes(life, "bob").events, "permission_voter_left")).toMatchObject([
      { votesReceived: 0, votesNeeded: 1, quorum: 1, optionTallies: {} },
    ]);
    expect(life.state).toBe("waiting");
    votes(life, "ada", no);
    expect(dataOf(life.log, "permission_resolved")).toMatchObject([{ outcome: no }]);
  });

  it.each<[number, number | null, readonly string[], number]>([
    [5, null, ["bob"], 3],
    [5, null, ["bob", "cleo"], 2],
    [4, null, ["bob"], 2],
    [3, null, ["bob"], 2],
    [3, 3, ["bob"], 2],
    [4, 2, ["bob"], 2],
    [3, 2, ["bob", "cleo"], 1],
    [2, null, ["bob", "ada"], 1],
  ])("of %i (quorum: %s) without %j leaves %i who have to agree", (count, quorum, left, agree) => {
    const all = ["ada", "bob", "cleo", "dan", "eve"].slice(0, count);
    const life = asked("consensus", people(...all));
    for (const name of left) goes(life, name, quorum);
    const [open] = [...life.now.connection.turn.openAsks.values()];
    expect(open?.mediation.quorum).toBe(agree);
    expect(open?.mediation.voters).toHaveLength(count - left.length);
  });

  it("changes nothing for those who do not agree", () => {
    const life = asked("consensus", people("ada", "bob", "cleo"));
    votes(life, "ada", yes);
    votes(life, "cleo", no);
    expect(types(goes(life, "bob"))).toEqual(["permission_voter_left"]);
    expect(life.state).toBe("waiting");
  });

  it("grants what those who stay had agreed to for good", () => {
    const life = asked("consensus", people("ada", "bob"));
    votes(life, "ada", always);
    expect(types(goes(life, "bob"))).toContain("session_grant_added");
  });

  it("has their clients of before there were users go with them", () => {
    const life = asked("consensus", [
      ["old-1", null],
      ["bob-1", "bob"],
    ]);
    expect(fate(life, at("old-1", "ada"))).toBe("counted");
    const [left] = dataOf(goes(life, "ada").events, "permission_voter_left");
    expect(left).toMatchObject({ left: ["client old-1"], votesReceived: 0 });
    expect(fate(life, at("bob-1", "bob"))).toBe("resolved");
  });

  it("has those who stay answer a question anew, of which only the option was kept", () => {
    const life = asked("consensus", people("ada", "bob"));
    const present = [clientId("ada-1"), clientId("bob-1")];
    const question = newAsk("a2", { policy: "consensus", kind: "user_question", present });
    life.give("ask", question, AGENT);
    const answer = { requestId: askId("a2"), outcome: yes, answers: { name: "Ada" } };
    life.give("vote", answer, at(null, "ada"));
    goes(life, "bob");
    expect(dataOf(life.log, "permission_resolved")).toEqual([]);
    life.give("vote", answer, at(null, "ada"));
    expect(dataOf(life.log, "permission_resolved")).toMatchObject([
      { requestId: "a2", outcome: yes, answers: { name: "Ada" } },
    ]);
  });

  it.each(MEDIATION_POLICIES.filter((policy) => policy !== "consensus"))(
    "is nothing that an ask under %s counts",
    (policy) => {
      const life = asked(policy, people("ada", "bob"));
      expect(goes(life, "bob").events).toEqual([]);
    },
  );

  it("who was not asked, or in a session that asks nothing, is nothing", () => {
    expect(goes(asked("consensus", people("ada")), "bob").events).toEqual([]);
    expect(goes(new Life().ready(), "bob").events).toEqual([]);
  });
});

describe("P8: an open ask, once a policy forbids the turn's user to approve for themselves", () => {
  const bound: Bound = {
    ceiling: { ...ceilingOf(DEFAULT_POLICY, "member"), selfApproval: false },
    authority: { role: "member", isMember: true },
    anyone: { voters: true, owners: true },
    others: { voters: true, owners: true },
  };
  const people = (...names: string[]): Registered => names.map((name) => [`${name}-1`, name]);

  it("is decided by the votes of the others, which the next vote finds agreed", () => {
    const life = asked("consensus", people("ada", "bob"));
    expect(fate(life, at("bob-1", "bob"))).toBe("counted");
    const ballot = { requestId: askId("a1"), outcome: yes, bound };
    const decision = life.give("vote", ballot, at("ada-1", "ada"));
    expect(verdictOn(decision)).toBe("permission_forbidden");
    expect(dataOf(decision.events, "permission_resolved")).toMatchObject([
      { requestId: "a1", outcome: yes, reason: "vote" },
    ]);
    expect(life.state).toBe("running");
  });

  it("is not decided by the vote which that user had given before", () => {
    const life = asked("consensus", people("ada", "bob", "cleo"));
    expect(fate(life, at("ada-1", "ada"))).toBe("counted");
    const left = { userId: userId("cleo"), quorum: 1, bound };
    expect(types(life.give("voter_gone", left, SERVER))).toEqual(["permission_voter_left"]);
    expect(life.state).toBe("waiting");
    expect(fate(life, at("bob-1", "bob"))).toBe("resolved");
  });
});
