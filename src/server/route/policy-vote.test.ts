import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";

const RUN = "ask kind=execute command=ls";
const NOBODY_FOR_ITSELF = { roles: { member: { selfApproval: false } } };

describe("P8: where users may not approve for themselves", () => {
  it("the vote of the turn's user does not count, and a colleague's does", async () => {
    const team = await PolicyTeam.open();
    await team.policy(NOBODY_FOR_ITSELF);
    const room = await team.session(team.mel);
    const { requestId } = await room.asked(team.mel, RUN, "say done");
    const mine = await room.vote(team.mel, requestId);
    expect(mine).toMatchObject({
      status: 403,
      body: { code: "permission_forbidden", reason: "self_approval" },
    });
    const always = await room.vote(team.mel, requestId, "allow_always");
    expect(always.status).toBe(403);
    expect(room.all("permission_resolved")).toEqual([]);
    expect((await room.vote(team.max, requestId)).status).toBe(200);
    await room.stream.until(() => room.all("turn_complete").length === 1);
  });

  it("they may refuse it, cancel it, and answer the agent's questions", async () => {
    const team = await PolicyTeam.open();
    await team.policy(NOBODY_FOR_ITSELF);
    const room = await team.session(team.mel);
    const first = await room.asked(team.mel, RUN, "say done");
    expect((await room.vote(team.mel, first.requestId, "reject_once")).status).toBe(200);
    const question = await room.asked(team.mel, "question Ready?", "say done");
    await room.answer(team.mel, question);
    await room.stream.until(() => room.all("turn_complete").length === 2);
  });

  it("a grant that one of them gave in another's turn does not answer for them", async () => {
    const team = await PolicyTeam.open();
    await team.policy(NOBODY_FOR_ITSELF);
    const room = await team.session(team.max);
    const theirs = await room.asked(team.max, RUN, "say done");
    expect((await room.vote(team.mel, theirs.requestId, "allow_always")).status).toBe(200);
    await room.stream.until(() => room.all("session_grant_added").length === 1);
    const own = await room.asked(team.mel, RUN, "say done");
    expect((await room.vote(team.mel, own.requestId)).status).toBe(403);
    expect((await room.vote(team.max, own.requestId)).status).toBe(200);
  });

  it("a policy that comes while the ask is open counts for the vote", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.mel);
    const { requestId } = await room.asked(team.mel, RUN, "say done");
    await team.policy(NOBODY_FOR_ITSELF);
    expect((await room.vote(team.mel, requestId)).status).toBe(403);
    expect((await room.vote(team.ada, requestId)).status).toBe(200);
  });

  it.each(["designated", "consensus"] as const)(
    "an ask that only they could decide goes to the owners: %s",
    async (policy) => {
      const team = await PolicyTeam.open({ stage: { settings: { policy } } });
      await team.policy(NOBODY_FOR_ITSELF);
      const room = await team.session(team.mel);
      const { requestId, mediation } = await room.asked(team.mel, RUN, "say done");
      expect(mediation).toMatchObject({ policy, owners: true });
      expect((await room.vote(team.mel, requestId)).status).toBe(403);
      expect((await room.vote(team.max, requestId)).status).toBe(403);
      expect((await room.vote(team.ada, requestId)).status).toBe(200);
      await room.stream.until(() => room.all("turn_complete").length === 1);
    },
  );

  it.each(["designated", "consensus"] as const)(
    "an open ask goes to the owners as well, when the policy comes later: %s",
    async (policy) => {
      const team = await PolicyTeam.open({ stage: { settings: { policy } } });
      const room = await team.session(team.mel);
      const { requestId, mediation } = await room.asked(team.mel, RUN, "say done");
      expect(mediation).not.toHaveProperty("owners");
      await team.policy(NOBODY_FOR_ITSELF);
      expect((await room.vote(team.mel, requestId)).body.reason).toBe("self_approval");
      expect((await room.vote(team.max, requestId)).body.reason).toBe("designated_mismatch");
      expect((await room.vote(team.ada, requestId)).status).toBe(200);
      await room.stream.until(() => room.all("turn_complete").length === 1);
    },
  );

  it("an owner's open ask goes to another owner once a member has steered the turn", async () => {
    const profiles = new Map([echo("--steer")]);
    const team = await PolicyTeam.open({ stage: { settings: { policy: "designated" }, profiles } });
    const olga = await team.people.person("olga", "owner");
    await team.policy(NOBODY_FOR_ITSELF);
    const room = await team.session(team.ada, { visibility: "tenant" });
    const { requestId } = await room.asked(team.ada, RUN, "say done");
    const body = { message: "say steered" };
    const steered = await team.mel.call("POST", `${room.path}/mid-turn-message`, { body });
    expect(steered.body, steered.text).toMatchObject({ accepted: true });
    await room.stream.until(() => room.all("mid_turn_message_injected").length === 1);
    expect((await room.vote(team.ada, requestId)).body.reason).toBe("self_approval");
    expect((await room.vote(olga, requestId)).status).toBe(200);
    await room.stream.until(() => room.all("turn_complete").length === 1);
  });

  it("P5: an open ask that is left to no user is cancelled with the next vote", async () => {
    const team = await PolicyTeam.open({ stage: { settings: { policy: "designated" } } });
    const room = await team.session(team.ada);
    const { requestId } = await room.asked(team.ada, RUN, "say done");
    await team.policy({ roles: { owner: { selfApproval: false } } });
    expect((await room.vote(team.ada, requestId)).body.reason).toBe("self_approval");
    await room.stream.until(() => room.all("turn_complete").length === 1);
    expect(room.all("permission_resolved")).toMatchObject([{ requestId, reason: "no_voter" }]);
  });

  it("an allowlist of their own does not answer for them: its hits are asked", async () => {
    const team = await PolicyTeam.open();
    await team.policy(NOBODY_FOR_ITSELF);
    const listed = { mode: "allowlist", allowlist: ["execute:ls"] };
    const room = await team.session(team.mel, listed);
    const { requestId } = await room.asked(team.mel, RUN, "say done");
    expect((await room.vote(team.mel, requestId)).status).toBe(403);
    expect((await room.vote(team.max, requestId)).status).toBe(200);
  });

  it("P5: an ask that is left to no user at all is cancelled, and says so", async () => {
    const team = await PolicyTeam.open();
    await team.policy({ roles: { owner: { selfApproval: false } } });
    for (const name of ["mel", "max"]) {
      expect((await team.ada.call("DELETE", `/members/${name}`)).status).toBe(204);
    }
    const room = await team.session(team.ada);
    await room.verdict(await room.admitted(team.ada, RUN, "say done"));
    expect(room.all("permission_resolved")).toMatchObject([
      { reason: "no_voter", outcome: { outcome: "cancelled" } },
    ]);
  });

  it("P5: an ask in a private session is cancelled if none who sees it may decide", async () => {
    const team = await PolicyTeam.open();
    const alone = { roles: { owner: { selfApproval: false } } };
    await team.policy(alone);
    const room = await team.session(team.ada, { visibility: "private" });
    await room.verdict(await room.admitted(team.ada, RUN, "say done"));
    expect(room.all("permission_resolved")).toMatchObject([{ reason: "no_voter" }]);
  });

  it("P5: an ask is cancelled when the last other voter is removed", async () => {
    const team = await PolicyTeam.open();
    await team.policy({ roles: { owner: { selfApproval: false } } });
    await team.ada.call("DELETE", "/members/max");
    const room = await team.session(team.ada);
    const { requestId } = await room.asked(team.ada, RUN, "say done");
    await team.ada.call("DELETE", "/members/mel");
    await room.stream.until(() => room.all("permission_resolved").length === 1);
    expect(room.all("permission_resolved")).toMatchObject([{ requestId, reason: "no_voter" }]);
  });
});
