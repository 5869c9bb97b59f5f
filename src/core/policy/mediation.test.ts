import { describe, expect, it } from "vitest";
import { parseAskId, parseClientId, parseUserId } from "../id.ts";
import {
  type Ask,
  type Ballot,
  type Count,
  countBallot,
  MEDIATION_POLICIES,
  type Mediation,
  type MediationPolicy,
  openMediation,
  putToOwners,
  voterOf,
} from "./ask.ts";

const clientId = parseClientId("tab-1");
const userId = parseUserId("ada");

const resolved: Count = { kind: "resolved" };
const repeated: Count = { kind: "repeated" };
const mismatch: Count = { kind: "forbidden", reason: "designated_mismatch" };
const remote: Count = { kind: "forbidden", reason: "remote_not_allowed" };

function open(mediation: Mediation, votes: Record<string, string> = {}): Ask {
  const requestId = parseAskId("ask-1");
  if (requestId === null) expect.unreachable();
  return {
    requestId,
    kind: "permission",
    toolCall: {},
    options: [{ optionId: "yes" }, { optionId: "no" }, { optionId: "later" }],
    keys: [],
    tier: "execute",
    mediation,
    votes: new Map(Object.entries(votes)),
    askedAtMs: 0,
    deadlineAtMs: null,
  };
}

function ballot(voter: string | null, optionId = "yes", loopback = false): Ballot {
  return { names: voter === null ? [] : [voter], loopback, optionId };
}

/** An ask under this policy, made by Ada's prompt while Ada and Bob were there. */
function under(policy: MediationPolicy, designated: string | null = "ada"): Ask {
  return open(openMediation(policy, null, ["ada", "bob"], designated));
}

describe("a mediation policy", () => {
  it("is one of four", () => {
    expect(MEDIATION_POLICIES).toEqual([
      "first-responder",
      "designated",
      "consensus",
      "local-only",
    ]);
  });

  it.each<[MediationPolicy, string | null, boolean, Count]>([
    ["first-responder", "ada", false, resolved],
    ["first-responder", "eve", false, resolved],
    ["first-responder", null, false, resolved],
    ["designated", "ada", false, resolved],
    ["designated", "bob", false, mismatch],
    ["designated", "eve", true, mismatch],
    ["designated", null, true, mismatch],
    ["local-only", "eve", true, resolved],
    ["local-only", null, true, resolved],
    ["local-only", "ada", false, remote],
    ["local-only", null, false, remote],
    ["consensus", "eve", true, mismatch],
    ["consensus", null, true, mismatch],
  ])("%s counts the vote of %s (loopback: %s) as %j", (policy, voter, loopback, expected) => {
    expect(countBallot(under(policy), ballot(voter, "yes", loopback))).toEqual(expected);
  });

  it.each(["bob", null])(
    "designated lets anybody vote (%s) if the prompt was anonymous",
    (voter) => {
      expect(countBallot(under("designated", null), ballot(voter))).toEqual(resolved);
    },
  );

  it("does not read the quorum outside consensus", () => {
    const mediation = openMediation("first-responder", 2, ["ada", "bob"], null);
    expect(countBallot(open(mediation), ballot("bob"))).toEqual(resolved);
  });
});

describe("a voter", () => {
  it.each([
    [clientId, userId, "user ada"],
    [null, userId, "user ada"],
    [clientId, null, "client tab-1"],
    [null, null, null],
  ])("of client %s and user %s is %s: a user where tokens are in use", (client, user, voter) => {
    expect(voterOf(client, user)).toBe(voter);
  });
});

describe("the rules of an ask", () => {
  it("are written down when it is made", () => {
    expect(openMediation("consensus", null, ["ada", "bob", "cyd"], "bob")).toEqual({
      policy: "consensus",
      designated: "bob",
      voters: ["ada", "bob", "cyd"],
      quorum: 2,
    });
  });

  it("count users and not their tabs: ten clients of one user are one voter", () => {
    const tabs = Array.from({ length: 10 }, () => voterOf(clientId, userId) ?? "");
    const rules = openMediation("consensus", null, [...tabs, "user bob"], null);
    expect(rules.voters).toEqual(["user ada", "user bob"]);
    expect(rules.quorum).toBe(2);
  });

  it("do not change when somebody comes later", () => {
    const voters = ["ada"];
    const rules = openMediation("consensus", null, voters, null);
    voters.push("bob");
    expect(rules.voters).toEqual(["ada"]);
    expect(countBallot(open(rules), ballot("bob"))).toEqual(mismatch);
  });
});

describe("somebody whom an ask may know by more than one name", () => {
  const names = ["user ada", "client ada-1", "client ada-2"];
  const under = (policy: MediationPolicy, designated: string | null, votes = {}) => {
    const voters = ["client ada-1", "client ada-2", "user bob"];
    return open(openMediation(policy, null, voters, designated), votes);
  };
  const vote = { names, loopback: false, optionId: "yes" };

  it.each<[string, Ask, Count]>([
    ["votes first", under("first-responder", null), resolved],
    ["is who is designated under any of them", under("designated", "client ada-2"), resolved],
    ["is not who is designated under none", under("designated", "user bob"), mismatch],
    ["is as far away as before", under("local-only", "user ada"), remote],
    [
      "counts as the first that was asked",
      under("consensus", null),
      recorded("client ada-1", { yes: 1 }, 1, 1),
    ],
    ["has voted if any of them has", under("consensus", null, { "client ada-2": "yes" }), repeated],
  ])("%s", (_, ask, expected) => {
    expect(countBallot(ask, vote)).toEqual(expected);
  });
});

describe("the quorum", () => {
  const everybody = ["a", "b", "c", "d", "e"];

  // biome-ignore format: a table is read by its columns
  it.each([
    // voters, by default, configured as -1, 0, 1, 2, 3, 4, 5, 9
    [0, 1, [1, 1, 1, 1, 1, 1, 1, 1]],
    [1, 1, [1, 1, 1, 1, 1, 1, 1, 1]],
    [2, 2, [1, 1, 1, 2, 2, 2, 2, 2]],
    [3, 2, [1, 1, 1, 2, 3, 3, 3, 3]],
    [4, 3, [1, 1, 1, 2, 3, 4, 4, 4]],
    [5, 3, [1, 1, 1, 2, 3, 4, 5, 5]],
  ])("of %i voters is %i, or as configured within 1 and all of them", (count, byDefault, rows) => {
    const voters = everybody.slice(0, count);
    const quorum = (configured: number | null) =>
      openMediation("consensus", configured, voters, null).quorum;
    expect(quorum(null)).toBe(byDefault);
    expect([-1, 0, 1, 2, 3, 4, 5, 9].map(quorum)).toEqual(rows);
  });
});

describe("consensus", () => {
  const four = openMediation("consensus", null, ["ada", "bob", "cyd", "dan"], "ada");

  it("with one voter is decided by that one", () => {
    const alone = openMediation("consensus", null, ["ada"], null);
    expect(countBallot(open(alone), ballot("ada"))).toEqual(resolved);
  });

  it("without voters takes no vote of its own, so it is the owners' from the beginning", () => {
    const nobody = openMediation("consensus", null, [], null);
    expect(countBallot(open(nobody), ballot("ada"))).toEqual(mismatch);
    expect(countBallot(open(nobody), ballot(null, "yes", true))).toEqual(mismatch);
    const owned = putToOwners(nobody, []);
    expect(owned.owners).toBe(true);
    expect(countBallot(open(owned), ballot("ada"))).toEqual(mismatch);
    expect(countBallot(open(owned), { ...ballot("olga"), isOwner: true })).toEqual(resolved);
  });

  // Four voters, three must agree. What was voted, the next ballot, what it comes to.
  it.each<[Record<string, string>, string, string, Count]>([
    [{}, "ada", "yes", recorded("ada", { yes: 1 }, 1, 2)],
    [{ ada: "yes" }, "bob", "yes", recorded("bob", { yes: 2 }, 2, 1)],
    [{ ada: "yes" }, "bob", "no", recorded("bob", { yes: 1, no: 1 }, 2, 2)],
    [
      { ada: "yes", bob: "no" },
      "cyd",
      "later",
      recorded("cyd", { yes: 1, no: 1, later: 1 }, 3, 2, true),
    ],
    [{ ada: "yes", bob: "no" }, "cyd", "no", recorded("cyd", { yes: 1, no: 2 }, 3, 1)],
    [{ ada: "yes", bob: "yes" }, "cyd", "yes", resolved],
    [{ ada: "no", bob: "no" }, "cyd", "no", resolved],
    [{ ada: "yes", bob: "yes", cyd: "no" }, "dan", "yes", resolved],
    [
      { ada: "yes", bob: "yes", cyd: "no" },
      "dan",
      "no",
      recorded("dan", { yes: 2, no: 2 }, 4, 1, true),
    ],
    [
      { ada: "yes", bob: "no", cyd: "no" },
      "dan",
      "later",
      recorded("dan", { yes: 1, no: 2, later: 1 }, 4, 1, true),
    ],
  ])("of three in four: after %j the vote of %s for %s is %j", (votes, voter, option, expected) => {
    expect(countBallot(open(four, votes), ballot(voter, option))).toEqual(expected);
  });

  it.each(["yes", "no"])("takes one ballot of each voter; a second (%s) says nothing", (option) => {
    const ask = open(four, { ada: "yes", bob: "yes" });
    expect(countBallot(ask, ballot("ada", option))).toEqual(repeated);
  });

  it("lets nobody vote who was not there when it was asked, nor anybody without a name", () => {
    const ask = open(four, { ada: "yes", bob: "yes" });
    expect(countBallot(ask, ballot("eve"))).toEqual(mismatch);
    expect(countBallot(ask, ballot(null))).toEqual(mismatch);
  });

  it("after a split vote is the owners': all have voted, and none has the quorum", () => {
    const votes = { ada: "yes", bob: "yes", cyd: "no", dan: "no" };
    for (const voter of ["ada", "bob", "cyd", "dan"]) {
      expect(countBallot(open(four, votes), ballot(voter, "yes"))).toEqual(repeated);
    }
    expect(putToOwners(four, [], new Map(Object.entries(votes))).owners).toBe(true);
    const open3 = new Map(Object.entries({ ada: "yes", bob: "yes", cyd: "no" }));
    expect(putToOwners(four, [], open3)).not.toHaveProperty("owners");
  });

  it("can be told to need everybody", () => {
    const all = openMediation("consensus", 9, ["ada", "bob", "cyd"], null);
    const votes = { ada: "no", bob: "no" };
    expect(countBallot(open(all, votes), ballot("cyd", "no"))).toEqual(resolved);
    expect(countBallot(open(all, votes), ballot("cyd"))).toEqual(
      recorded("cyd", { yes: 1, no: 2 }, 3, 1, true),
    );
  });

  it("counts an option of any name", () => {
    const votes = { ada: "__proto__" };
    const count = countBallot(open(four, votes), ballot("bob", "__proto__"));
    const tallies = Object.fromEntries([["__proto__", 2]]);
    expect(count).toEqual(recorded("bob", tallies, 2, 1));
    expect(Object.entries(count.kind === "recorded" ? count.tallies : {})).toEqual([
      ["__proto__", 2],
    ]);
  });

  it("changes nothing in the ask: counting is not recording", () => {
    const ask = open(four, { ada: "yes" });
    countBallot(ask, ballot("bob"));
    expect(ask).toEqual(open(four, { ada: "yes" }));
  });
});

function recorded(
  voter: string,
  tallies: Record<string, number>,
  votesReceived: number,
  votesNeeded: number,
  owners = false,
) {
  return { kind: "recorded", voter, tallies, votesReceived, votesNeeded, owners } as const;
}
