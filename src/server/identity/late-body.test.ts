import { describe, expect, it } from "vitest";
import { IDENTITY_FRESH_MS } from "../../core/limits.ts";
import { ok } from "../../core/result.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import { Approvals } from "../route/approval.fixture.ts";
import { ACME, BY_OWNER, OPERATOR, user } from "./identity.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

const TEXT = { prompt: [{ type: "text", text: "say hi" }] };
const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };

interface Place extends Approvals {
  readonly clock: ManualClock;
  readonly mal: Person;
  readonly requestId: string;
}

/** Ada's session, in which the agent has asked, and Mal, who is an owner as well. */
async function place(): Promise<Place> {
  const clock = new ManualClock();
  const approvals = await Approvals.open({}, { clock });
  const mal = await approvals.people.person("mal", "owner");
  const requestId = await approvals.asked("ask");
  return Object.assign(approvals, { clock, mal, requestId });
}

interface Answered {
  readonly status: number;
  readonly code: unknown;
}

/** A request whose head is judged before its body is there; then something happens. */
async function late(
  { lookups, world }: People,
  { token }: Person,
  [path, sent]: readonly [string, object],
  meanwhile: () => Promise<unknown>,
): Promise<Answered> {
  const body = JSON.stringify(sent);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${world.port}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  const { count } = lookups;
  const socket = world.socket();
  socket.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 3)}`);
  await expect.poll(() => lookups.count).toBe(count + 1);
  await meanwhile();
  socket.write(body.slice(3));
  let said = "";
  for await (const chunk of socket) said += chunk;
  const [, status = ""] = said.split(" ");
  const text = said.slice(said.indexOf("\r\n\r\n"));
  return { status: Number(status), code: text.includes("{") ? JSON.parse(text).code : null };
}

/** Three requests that are all an owner's to make. */
const ROUTES: readonly [string, (place: Place) => readonly [string, object]][] = [
  ["a member", () => ["/members/friend", { role: "owner" }]],
  ["a prompt", ({ path }) => [`${path}/prompt`, TEXT]],
  ["a vote", ({ path, requestId }) => [`${path}/permission/${requestId}`, ALLOW]],
];

type Change = readonly [what: string, act: (place: Place) => Promise<unknown>, answer: unknown];

const gone = { status: 401, code: "unauthorized" };
const less = { status: 403, code: "role_required" };

/** Changed through this server: the change is known at once. */
const HERE: readonly Change[] = [
  ["is removed", ({ ada }) => ada.call("DELETE", "/members/mal"), gone],
  ["is made a viewer", ({ ada }) => role(ada, "viewer"), less],
  ["has lost the token", ({ ada, mal }) => ada.call("DELETE", `/tokens/${mal.tokenId}`), gone],
];

/** By another process, of which this one hears nothing. */
const ELSEWHERE: readonly Change[] = [
  ["is removed", ({ people }) => value(people.members.remove(ACME, user("mal"), OPERATOR)), gone],
  [
    "is made a viewer",
    ({ people }) => value(people.members.put(ACME, user("mal"), "viewer", BY_OWNER)),
    less,
  ],
  [
    "has lost the token",
    ({ people, mal }) => value(people.tokens.revoke(ACME, mal.tokenId, OPERATOR)),
    gone,
  ],
];

function role(ada: Person, name: string) {
  return ada.call("POST", "/members/mal", { body: { role: name } });
}

describe("a request whose body comes later than its head", () => {
  for (const [what, requestOf] of ROUTES) {
    it.each(HERE)(`is nobody's if its sender %s meanwhile: ${what}`, async (_, act, answer) => {
      const world = await place();
      const { people, mal } = world;
      const done = await late(people, mal, requestOf(world), () => act(world));
      expect(done).toEqual(answer);
      expect(await people.members.find(ACME, user("friend"))).toMatchObject({ value: null });
      expect((await world.view()).asks).toHaveLength(1);
    });

    it.each(ELSEWHERE)(
      `is so, too, if its sender %s by another process: ${what}`,
      async (_, act, answer) => {
        const world = await place();
        const { people, mal, clock } = world;
        const done = await late(people, mal, requestOf(world), async () => {
          await act(world);
          clock.advance(IDENTITY_FRESH_MS);
        });
        expect(done).toEqual(answer);
      },
    );
  }

  it("is refused by the role at its head, also if its sender has more by then", async () => {
    const world = await place();
    const { people, ada, mal } = world;
    await value(people.members.put(ACME, user("mal"), "member", BY_OWNER));
    const request = ["/members/friend", { role: "member" }] as const;
    const done = await late(people, mal, request, () => role(ada, "admin"));
    expect(done).toEqual({ status: 403, code: "role_required" });
  });

  it("P8: is nobody's if what opened it is somebody else's by then", async () => {
    const clock = new ManualClock();
    let name = "mal";
    const authenticate = (text: string) =>
      ok(text === "shared" ? { tenantId: ACME, userId: user(name), role: "owner" as const } : null);
    const people = await People.open({ clock, otherWays: [{ authenticate }] });
    const request = ["/members/friend", { role: "owner" }] as const;
    const done = await late(people, people.stranger("shared"), request, async () => {
      name = "eve";
      clock.advance(IDENTITY_FRESH_MS);
    });
    expect(done).toEqual(gone);
    expect(await people.members.find(ACME, user("friend"))).toMatchObject({ value: null });
  });

  it("is looked up once if it came soon, and nothing has changed", async () => {
    const world = await place();
    const { people, ada, mal, path } = world;
    const { count } = people.lookups;
    expect((await ada.call("POST", `${path}/prompt`, { body: TEXT })).status).toBe(202);
    expect(people.lookups.count).toBe(count + 1);
    const done = await late(people, mal, [`${path}/prompt`, TEXT], async () => {
      world.clock.advance(IDENTITY_FRESH_MS - 1);
    });
    expect(done.status).toBe(202);
    expect(people.lookups.count).toBe(count + 2);
  });
});
