import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { MEDIATION_POLICIES, type MediationPolicy } from "../../policy/mediation.ts";
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
  verdictOn,
} from "../life.fixture.ts";

const yes = { outcome: "selected", optionId: "yes" } as const;

/** Somebody at one of their clients; without a name of their own before there were users. */
function at(client: string | null, user: string | null, loopback = true): Actor {
  const named = client === null ? null : clientId(client);
  return { kind: "client", clientId: named, userId: parseUserId(user ?? ""), loopback };
}

type Registered = readonly (readonly [client: string, user: string | null])[];

/** An ask of the prompt that the first of these has sent, with all of them there. */
function asked(policy: MediationPolicy, registered: Registered, by?: Actor): Life {
  const life = new Life().ready();
  for (const [client, user] of registered) {
    life.give("attach", { clientId: clientId(client), present: [] }, at(client, user));
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
