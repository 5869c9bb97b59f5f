import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import { ACME, BY_OWNER, OPERATOR, user } from "../identity/identity.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";

const YOLO = { mode: "yolo", autonomy: "autonomous" };
const YOLO_RULES = { securityMode: "yolo", autonomy: "autonomous" };
const CAPPED = { role: "member", securityMode: "ask", autonomyProfile: "balanced" };
const RUN = "ask kind=execute command=ls";

describe("P8: a turn is bound by the role of the user whose prompt it is", () => {
  it("asks for a member in an owner's session where everything happens", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, YOLO);
    await room.verdict(await room.admitted(team.ada, RUN, "say done"));
    expect(room.all("permission_decided")).toMatchObject([{ gate: "security_mode" }]);
    const ask = await room.asked(team.mel, RUN, "say done");
    expect(ask).toMatchObject({ capped: CAPPED });
    await room.vote(team.ada, ask.requestId);
    // The session's own fields have not moved (P7).
    const { body } = await team.ada.call("GET", `${room.path}/approvals`);
    expect(body).toMatchObject({ securityMode: "yolo", autonomy: "autonomous" });
    expect(body.yours).toEqual({ ...YOLO_RULES, selfApproval: true });
    const mels = await team.mel.call("GET", `${room.path}/approvals`);
    expect(mels.body).toMatchObject({
      securityMode: "yolo",
      yours: { securityMode: "ask", autonomy: "balanced" },
    });
  });

  it("asks for a member's queued prompt, and for what the agent does without asking", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, YOLO);
    const question = await room.asked(
      team.ada,
      "question Ready?",
      "run touch by-owner",
      "say done",
    );
    await room.admitted(team.mel, "run touch pwned", "say done");
    await room.answer(team.ada, question);
    const ask = await room.nextAsk(1);
    expect(team.isMarked("by-owner")).toBe(true);
    expect(ask).toMatchObject({ capped: CAPPED, access: { action: "terminal" } });
    await room.vote(team.ada, ask.requestId, "reject_once");
    await room.stream.until(() => room.all("turn_complete").length === 2);
    expect(team.isMarked()).toBe(false);
  });

  it("asks once a member has steered the owner's turn", async () => {
    const team = await PolicyTeam.open({ stage: { profiles: new Map([echo("--steer")]) } });
    const room = await team.session(team.ada, YOLO);
    const question = await room.asked(team.ada, "question Ready?", RUN, "say done");
    const steered = await team.mel.call("POST", `${room.path}/mid-turn-message`, {
      body: { message: "say steered" },
    });
    expect(steered).toMatchObject({ status: 200, body: { accepted: true } });
    await room.answer(team.ada, question);
    const ask = await room.nextAsk(1);
    expect(ask).toMatchObject({ capped: CAPPED });
    await room.vote(team.ada, ask.requestId);
    await room.stream.until(() => room.all("turn_complete").length === 1);
  });

  it("follows a policy that is raised in mid-turn, and lowered", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, YOLO);
    const first = await room.asked(team.mel, RUN, RUN, "say done");
    await team.policy({ roles: { member: { mode: "yolo", autonomy: "autonomous" } } });
    await room.vote(team.ada, first.requestId);
    // Raised: the second ask of the turn is decided by the session's own mode.
    await room.stream.until(() => room.all("turn_complete").length === 1);
    expect(room.all("permission_decided")).toHaveLength(1);
    await team.policy({ roles: { owner: { mode: "ask", autonomy: "manual" } } });
    const lowered = await room.asked(team.ada, RUN, "say done");
    expect(lowered).toMatchObject({ capped: { role: "owner", securityMode: "ask" } });
    await room.vote(team.ada, lowered.requestId);
  });

  it("follows the member's role in mid-turn: made a viewer, or removed", async () => {
    const team = await PolicyTeam.open();
    const { members } = team.people;
    await team.policy({ roles: { member: { mode: "yolo", autonomy: "autonomous" } } });
    const room = await team.session(team.mel, YOLO);
    const held = await room.asked(team.mel, "question Ready?", RUN, "say done");
    await value(members.put(ACME, user("mel"), "viewer", BY_OWNER));
    await room.answer(team.ada, held);
    const asked = await room.nextAsk(1);
    expect(asked).toMatchObject({ capped: { role: "viewer", securityMode: "ask" } });
    await room.vote(team.ada, asked.requestId);
    await room.stream.until(() => room.all("turn_complete").length === 1);

    const other = await team.session(team.max, YOLO);
    const open = await other.asked(team.max, "question Ready?", RUN, "say done");
    await value(members.remove(ACME, user("max"), OPERATOR));
    await other.answer(team.ada, open);
    const ask = await other.nextAsk(1);
    expect(ask).toMatchObject({ capped: { role: null, securityMode: "ask" } });
    await other.vote(team.ada, ask.requestId);
    await other.stream.until(() => other.all("turn_complete").length === 1);
  });

  it("asks what an owner's allowlist would let pass, and refuses what it refuses", async () => {
    const team = await PolicyTeam.open();
    await team.policy({ roles: { member: { mode: "ask" } } });
    const room = await team.session(team.ada, { mode: "allowlist", allowlist: ["execute:ls"] });
    await room.verdict(await room.admitted(team.ada, RUN, "ask command=pwd", "say done"));
    expect(room.all("permission_decided").map(({ allowed }) => allowed)).toEqual([true, false]);
    const ask = await room.asked(team.mel, "ask command=pwd", RUN, "say done");
    expect(room.all("permission_decided")).toHaveLength(3);
    expect(ask).toMatchObject({ capped: { role: "member" } });
    await room.vote(team.ada, ask.requestId);
  });
});
