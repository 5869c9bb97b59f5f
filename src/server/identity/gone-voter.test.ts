import { afterEach, describe, expect, it } from "vitest";
import { ok } from "../../core/result.ts";
import { altered, Door } from "../../session/altered-store.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import type { SessionStore } from "../../store/store.ts";
import { type Answer, json } from "../http/answer.ts";
import type { RequestAuthenticator } from "../http/authenticator.ts";
import { type Caller, route } from "../http/route.ts";
import { answering, closeServers, serve, UNDESCRIBED } from "../http/server.fixture.ts";
import { Approvals } from "../route/approval.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import { ACME, BY_OWNER, OPERATOR, user } from "./identity.fixture.ts";
import type { Person } from "./people.fixture.ts";

const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };

/** Ada's session, where two have to agree, and Ben, who has joined it. */
class Shared {
  readonly ask: Approvals;
  ben: Person;

  private constructor(ask: Approvals, ben: Person) {
    this.ask = ask;
    this.ben = ben;
  }

  static async open(wrap = (store: SessionStore) => store): Promise<Shared> {
    const ask = await Approvals.open({}, { stage: { settings: { policy: "consensus" }, wrap } });
    const shared = new Shared(ask, await ask.people.person("ben", "member"));
    await shared.join();
    return shared;
  }

  async join(): Promise<void> {
    const body = {};
    const joined = await this.ben.call("POST", `${this.ask.path}/resume`, {
      body,
      clientId: "ben-1",
    });
    expect(joined.status, joined.text).toBe(200);
  }

  async vote(who: Person, clientId: string, requestId: string): Promise<number> {
    const path = `${this.ask.path}/permission/${requestId}`;
    return (await who.call("POST", path, { body: ALLOW, clientId })).status;
  }

  /** Who is asked by a new prompt, and how many of them have to agree. */
  async asked() {
    const requestId = await this.ask.asked("ask", "say done");
    const { stream } = this.ask;
    const asks = stream.frames.filter(({ event }) => event === "permission_request");
    return { requestId, mediation: asks.at(-1)?.data.data.mediation };
  }

  async clients(): Promise<unknown> {
    const { body } = await this.ask.call("GET", "/status");
    return body.clientCount;
  }
}

/** A store that writes a leaving voter only when the gate is open. */
function slowToLeave(door: Door) {
  return (real: SessionStore) =>
    altered(real, {
      commit: async (key, term, commit) => {
        const isLeaving = commit.events.some((text) => text.includes('"permission_voter_left"'));
        if (isLeaving) await door.pass();
        return real.commit(key, term, commit);
      },
    });
}

type Change = readonly [what: string, act: (shared: Shared) => Promise<unknown>];

const LOST: readonly Change[] = [
  ["removed", ({ ask }) => ask.ada.call("DELETE", "/members/ben")],
  [
    "made a viewer",
    ({ ask }) => ask.ada.call("POST", "/members/ben", { body: { role: "viewer" } }),
  ],
  [
    "removed by another process",
    ({ ask }) => value(ask.people.members.remove(ACME, user("ben"), OPERATOR)),
  ],
  [
    "made a viewer by another process",
    ({ ask }) => value(ask.people.members.put(ACME, user("ben"), "viewer", BY_OWNER)),
  ],
];

const KEPT: readonly Change[] = [
  [
    "rotates a token",
    async (shared) => {
      const { ask, ben } = shared;
      const rotated = await ask.ada.call("POST", `/tokens/${ben.tokenId}/rotate`, { body: {} });
      shared.ben = ben.with(String(rotated.body.token));
    },
  ],
  ["has a token revoked", ({ ask, ben }) => ask.ada.call("DELETE", `/tokens/${ben.tokenId}`)],
  [
    "is made an admin",
    ({ ask }) => ask.ada.call("POST", "/members/ben", { body: { role: "admin" } }),
  ],
  ["sees another go", ({ ask }) => ask.ada.call("DELETE", "/members/cleo")],
];

describe("a member without a vote any more", () => {
  it.each(LOST)("is not counted on from then on: %s", async (_what, act) => {
    const shared = await Shared.open();
    const { ask } = shared;
    await act(shared);
    const { requestId, mediation } = await shared.asked();
    expect(mediation).toMatchObject({ voters: ["user ada"], quorum: 1 });
    expect(await shared.clients()).toBe(1);
    await ask.vote(requestId, "allow_once");
  });

  it.each(LOST)("is not waited for by what is open: %s", async (_what, act) => {
    const shared = await Shared.open();
    const { ask } = shared;
    const { requestId, mediation } = await shared.asked();
    expect(mediation).toMatchObject({ voters: ["user ada", "user ben"], quorum: 2 });
    expect(await shared.vote(ask.ada, "ada-1", requestId)).toBe(200);
    expect((await ask.view()).asks).toHaveLength(1);
    await act(shared);
    await ask.view();
    const left = await heard(ask.stream, "permission_voter_left");
    expect(left.data.data).toMatchObject({ requestId, left: ["user ben"], quorum: 1 });
    const resolved = await heard(ask.stream, "permission_resolved");
    expect(resolved.data.data).toMatchObject({ requestId, ...ALLOW, reason: "vote" });
    await heard(ask.stream, "turn_complete");
  });

  it.each([
    ["nobody reads on", 0],
    ["somebody reads on", 1],
  ])("is gone by the time that the removal is answered, where %s", async (_what, readers) => {
    const door = new Door();
    const shared = await Shared.open(slowToLeave(door));
    const { ask } = shared;
    const { server } = ask.people.world;
    await shared.asked();
    if (readers === 0) ask.stream.leave();
    await expect.poll(() => server.streamCountOf(ACME)).toBe(readers);
    const leaving = door.shut();
    let isAnswered = false;
    const removal = ask.ada.call("DELETE", "/members/ben").then(({ status }) => {
      isAnswered = true;
      return status;
    });
    await leaving;
    // A later request is answered before it.
    for (const _ of [1, 2, 3]) expect((await ask.ada.call("GET", "/members")).status).toBe(200);
    expect(isAnswered).toBe(false);
    door.open();
    expect(await removal).toBe(204);
  });

  it("does not count as there by reading on", async () => {
    const shared = await Shared.open();
    const { ask, ben } = shared;
    await ask.ada.call("POST", "/members/ben", { body: { role: "viewer" } });
    const { path } = ask;
    const beat = await ben.call("POST", `${path}/heartbeat`, { body: {}, clientId: "ben-1" });
    expect([beat.status, beat.body.clientId]).toEqual([200, "ben-1"]);
    const { mediation } = await shared.asked();
    expect(mediation).toMatchObject({ voters: ["user ada"], quorum: 1 });
  });

  it("votes again as soon as they are back", async () => {
    const shared = await Shared.open();
    const { ask } = shared;
    await ask.ada.call("DELETE", "/members/ben");
    shared.ben = await ask.people.person("ben", "member");
    await shared.join();
    const { requestId, mediation } = await shared.asked();
    expect(mediation).toMatchObject({ voters: ["user ada", "user ben"], quorum: 2 });
    expect(await shared.vote(ask.ada, "ada-1", requestId)).toBe(200);
    expect((await ask.view()).asks).toHaveLength(1);
    expect(await shared.vote(shared.ben, "ben-1", requestId)).toBe(200);
    await heard(ask.stream, "turn_complete");
  });
});

describe("a member who keeps their vote", () => {
  it.each(KEPT)("is counted on as before who %s", async (_what, act) => {
    const shared = await Shared.open();
    await shared.ask.people.person("cleo", "member");
    const { ask } = shared;
    const { requestId } = await shared.asked();
    expect(await shared.vote(ask.ada, "ada-1", requestId)).toBe(200);
    await act(shared);
    expect((await ask.view()).asks).toMatchObject([{ requestId }]);
    expect(await shared.clients()).toBe(2);
  });
});

describe("what somebody did while they lost their vote", () => {
  const ben: Caller = { tenantId: ACME, userId: user("ben"), role: "member" };
  const LOOKED_AT = [[ACME, { userId: "ben", authorization: "ben" }]];

  /** One request is at work while another changes who may come in. */
  async function meanwhile(benNow: Caller | null, change: () => Promise<Answer>) {
    const looks: unknown[] = [];
    const served = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let found: Caller | null = ben;
    const authenticator: RequestAuthenticator = {
      needsToken: true,
      authenticate: (said) => ok(said === "ben" ? found : { ...ben, role: "owner" }),
      recheck: async (...look) => void looks.push(look),
    };
    const slow = answering("/slow", async () => {
      begun.resolve();
      await served.promise;
      return json(200, {});
    });
    const row = { method: "POST", about: UNDESCRIBED, gate: "strict" } as const;
    const changing = route({ ...row, path: "/change", needs: "members:delete", handle: change });
    const world = await serve([slow, changing], {}, { authenticator });
    const answer = world.ask("/slow", { headers: { authorization: "ben" } });
    await begun.promise;
    await world.post("/change", {}, { authorization: "ada" });
    expect(looks).toEqual([[ACME, null]]);
    found = benNow;
    served.resolve();
    expect((await answer).status).toBe(200);
    return looks.slice(1);
  }

  afterEach(closeServers);

  it.each<[string, Caller | null]>([
    ["may not come in", null],
    ["may only look on", { ...ben, role: "viewer" }],
  ])("is looked at again when it is done, if by then they %s", async (_what, now) => {
    expect(await meanwhile(now, async () => json(200, {}))).toEqual(LOOKED_AT);
  });

  it("is not, if they have kept it", async () => {
    expect(await meanwhile(ben, async () => json(200, {}))).toEqual([]);
  });

  it("is looked at also if the change broke off: nobody knows how far it came", async () => {
    const broken = () => Promise.reject(new Error("the store is away"));
    expect(await meanwhile(null, broken)).toEqual(LOOKED_AT);
  });
});
