import { describe, expect, it } from "vitest";
import type { TenantId } from "../../core/id.ts";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { altered, Door } from "../../session/altered-store.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import type { SessionStore } from "../../store/store.ts";
import { type Authenticator, LOCAL_TENANT, sharedToken } from "../http/authenticator.ts";
import { Approvals } from "../route/approval.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import { ACME, IdentityWorld, OPERATOR, tenant, user } from "./identity.fixture.ts";
import { CLAIMS, fileOf, Issuer, wayBy } from "./jwt.fixture.ts";
import { People, type Person } from "./people.fixture.ts";
import { TokenAuthenticator, Voters } from "./token-authenticator.ts";

const CONSENSUS = { policy: "consensus" } as const;
const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };

/** Jo comes in by what an issuer has signed, at a time that a test sets. */
async function byIssuer(role = "member") {
  const issuer = await Issuer.make();
  const { world, way } = await wayBy(fileOf(issuer.jwk));
  const signed = (lifeMs: number) => {
    const exp = Math.floor((world.nowMs + lifeMs) / 1_000);
    return issuer.sign({ ...CLAIMS, sub: "jo", role, exp });
  };
  const pass = (ms: number) => {
    world.nowMs += ms;
  };
  return { way, signed, pass };
}

async function joins({ path }: Approvals, who: Person, clientId: string): Promise<void> {
  const joined = await who.call("POST", `${path}/resume`, { body: {}, clientId });
  expect(joined.status, joined.text).toBe(200);
}

/** A store that shows the turns of a session when the door is open. */
function slowToShow(door: Door) {
  return (real: SessionStore) =>
    altered(real, {
      readTurns: async (...wish) => {
        await door.pass();
        return real.readTurns(...wish);
      },
    });
}

describe("somebody by the word of an issuer, who need not be a member", () => {
  const MINUTE_MS = 60_000;

  it("keeps their vote if that ends while they are served and others change", async () => {
    const door = new Door();
    const { way, signed, pass } = await byIssuer();
    const ask = await Approvals.open(
      {},
      { otherWays: [way], stage: { settings: CONSENSUS, wrap: slowToShow(door) } },
    );
    const zoe = await ask.people.person("zoe", "owner", tenant("other"));
    const jo = ask.people.stranger(await signed(MINUTE_MS));
    await joins(ask, jo, "jo-1");
    const requestId = await ask.asked("ask", "say done");
    expect((await ask.call("POST", `/permission/${requestId}`, ALLOW)).status).toBe(200);
    const reading = door.shut();
    const read = jo.call("GET", `${ask.path}/transcript`);
    await reading;
    const body = { user: "zoe", role: "owner" };
    expect((await zoe.call("POST", "/tokens", { body })).status).toBeLessThan(300);
    pass(60 * MINUTE_MS);
    expect((await jo.call("GET", "/workspaces")).status).toBe(401);
    door.open();
    expect((await read).status).toBe(200);
    expect((await ask.view()).asks).toMatchObject([{ requestId }]);
    const renewed = ask.people.stranger(await signed(MINUTE_MS));
    const path = `${ask.path}/permission/${requestId}`;
    const voted = await renewed.call("POST", path, { body: ALLOW, clientId: "jo-1" });
    expect(voted.status, voted.text).toBe(200);
    await heard(ask.stream, "turn_complete");
    const left = ask.stream.frames.filter(({ event }) => event === "permission_voter_left");
    expect(left).toEqual([]);
  });

  it("is not missed as a suspect, as whoever came by a stored token is", async () => {
    const { store, members, tokens } = await IdentityWorld.open();
    const gone: string[] = [];
    const lostVote = async (_: unknown, userId: string) => void gone.push(userId);
    const voters = new Voters({ lostVote, lostOwnership: lostVote });
    const way = new TokenAuthenticator(store, members, { nowMs: () => 0 }, undefined, voters);
    const wish = { userId: user("ben"), role: "member", name: null, lifeMs: null } as const;
    await value(members.put(ACME, wish.userId, "member", { steward: OPERATOR, role: "owner" }));
    const { text } = await value(tokens.create(ACME, wish, OPERATOR));
    await value(members.remove(ACME, wish.userId, OPERATOR));
    const { signed } = await byIssuer();
    const jwt = await signed(MINUTE_MS);
    for (const [name, authorization] of [
      ["jo", `Bearer ${jwt}`],
      ["cleo", undefined],
      ["ben", `bearer ${text}`],
    ] as const) {
      await way.recheck(ACME, { userId: user(name), authorization });
    }
    expect(gone).toEqual(["ben"]);
  });
});

describe("what another process does to the members", () => {
  const OPERATOR_TOKEN = "a-token-of-the-operator";

  async function operator(): Promise<[Authenticator, string, TenantId]> {
    return [sharedToken(OPERATOR_TOKEN), OPERATOR_TOKEN, LOCAL_TENANT];
  }

  async function issuer(): Promise<[Authenticator, string, TenantId]> {
    const { way, signed } = await byIssuer("owner");
    return [way, await signed(600_000), ACME];
  }

  it.each([
    ["the operator's token", operator],
    ["a JWT", issuer],
  ])("is seen by the next look at a stream that was opened with %s", async (_what, opened) => {
    const clock = new ManualClock();
    const [way, token, tenantId] = await opened();
    const stage = { settings: CONSENSUS };
    const people = await People.open({ clock, otherWays: [way], stage });
    const ben = await people.person("ben", "member", tenantId);
    const ask = await Approvals.made(people, people.stranger(token));
    await joins(ask, ben, "ben-1");
    const requestId = await ask.asked("ask", "say done");
    expect((await ask.call("POST", `/permission/${requestId}`, ALLOW)).status).toBe(200);
    await value(people.members.remove(tenantId, user("ben"), OPERATOR));
    // A request by such a way does not read the list of members.
    expect((await ask.view()).asks).toMatchObject([{ requestId }]);
    await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(1);
    clock.advance(STREAM_RECHECK_MS);
    const left = await heard(ask.stream, "permission_voter_left");
    expect(left.data.data).toMatchObject({ requestId, left: ["user ben"], quorum: 1 });
    await heard(ask.stream, "turn_complete");
    expect(ask.stream.isOver).toBeNull();
    ask.stream.leave();
  });
});
