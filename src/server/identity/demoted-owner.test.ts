import { describe, expect, it } from "vitest";
import { heard } from "../route/work.fixture.ts";
import type { Person } from "./people.fixture.ts";
import { Team } from "./team.fixture.ts";

const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };
const RUN = "ask kind=execute command=ls\nsay done";

/** A tenant in which the voters who are there have to agree, with a second owner. */
async function team() {
  const all = await Team.open({ stage: { settings: { policy: "consensus" } } });
  return { all, olga: await all.people.person("olga", "owner") };
}

async function asked(all: Team, by: Person, path: string) {
  const stream = await all.stream(all.own, `${path}/events`);
  const body = { prompt: [{ type: "text", text: RUN }] };
  const sent = await by.call("POST", `${path}/prompt`, { body, clientId: "a-client" });
  expect(sent.status, sent.text).toBe(202);
  const { data } = (await heard(stream, "permission_request")).data;
  return { stream, requestId: String(data.requestId), mediation: data.mediation };
}

async function joined(by: Person, path: string, clientId: string) {
  const there = await by.call("POST", `${path}/resume`, { body: {}, clientId });
  expect(there.status, there.text).toBe(200);
}

const demote = async (all: Team) => {
  const role = { body: { role: "member" } };
  expect((await all.own.call("POST", "/members/olga", role)).status).toBe(200);
};

describe("P8: an owner who becomes a member", () => {
  it("is no voter of a private session any more, nor does its open ask wait", async () => {
    const { all, olga } = await team();
    const { path } = await all.made(all.ada);
    await joined(olga, path, "olga-1");
    const { stream, requestId, mediation } = await asked(all, all.ada, path);
    expect(mediation).toMatchObject({ voters: ["user ada", "user olga"], quorum: 2 });
    await demote(all);
    const left = await heard(stream, "permission_voter_left");
    expect(left.data.data).toMatchObject({ left: ["user olga"], quorum: 1 });
    const options = { body: ALLOW, clientId: "a-client" };
    const voted = await all.ada.call("POST", `${path}/permission/${requestId}`, options);
    expect(voted.status, voted.text).toBe(200);
    await heard(stream, "turn_complete");
    stream.leave();
  });

  it("stays a voter of a session that the whole tenant sees", async () => {
    const { all, olga } = await team();
    const { path } = await all.made(all.ada, { visibility: "tenant" });
    await joined(olga, path, "olga-1");
    const { stream, requestId } = await asked(all, all.ada, path);
    await demote(all);
    const vote = (by: Person, clientId: string) =>
      by.call("POST", `${path}/permission/${requestId}`, { body: ALLOW, clientId });
    expect((await vote(all.ada, "a-client")).status).toBe(200);
    await heard(stream, "permission_partial_vote");
    expect((await vote(olga, "olga-1")).status).toBe(200);
    await heard(stream, "turn_complete");
    stream.leave();
  });

  it("P5: may have been the last who could decide: the ask is cancelled", async () => {
    const { all, olga } = await team();
    const policy = { roles: { owner: { selfApproval: false } } };
    const { version } = (await all.own.call("GET", "/tenant/policy")).body;
    const set = await all.own.call("PUT", "/tenant/policy", { body: { version, policy } });
    expect(set.status, set.text).toBe(200);
    const { path } = await all.made(all.own, { visibility: "tenant" });
    const { stream, requestId, mediation } = await asked(all, all.own, path);
    expect(mediation).toMatchObject({ owners: true });
    expect((await olga.call("GET", `${path}/status`)).status).toBe(200);
    await demote(all);
    const resolved = await heard(stream, "permission_resolved");
    expect(resolved.data.data).toMatchObject({ requestId, reason: "no_voter" });
    stream.leave();
  });
});
