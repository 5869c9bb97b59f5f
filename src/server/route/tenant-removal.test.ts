import { type IncomingMessage, request } from "node:http";
import { describe, expect, it } from "vitest";
import { parseSessionId, type TenantId } from "../../core/id.ts";
import type { Role } from "../../core/permission.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import { LedgerMeter, PriceTable } from "../../session/meter/index.ts";
import { thisHolder } from "../../store/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import { IDLE } from "../http/server.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { ACME, OPERATOR, tenant } from "../identity/identity.fixture.ts";
import { People, type Person } from "../identity/people.fixture.ts";
import { allRoutes } from "./all-routes.ts";
import { heard } from "./work.fixture.ts";

const CONFIRMED = { body: { confirm: "acme" } };
const OTHER = tenant("other");

const meter = (store: SessionStore) =>
  new LedgerMeter({
    store,
    prices: new PriceTable(),
    usualLimit: () => "unlimited",
    nowMs: () => Date.now(),
    log: () => {},
  });

async function opened() {
  const people = await People.open({ stage: { meter }, settings: { token: "unused" } });
  const ada = await people.person("ada", "owner");
  const zoe = await people.person("zoe", "owner", OTHER);
  return { people, ada, zoe };
}

async function made(person: Person): Promise<string> {
  const { body } = await person.call("POST", "/session", { body: { sessionScope: "thread" } });
  return String(body.sessionId);
}

function prompted(person: Person, sessionId: string, text: string) {
  const body = { prompt: [{ type: "text", text }] };
  return person.call("POST", `/session/${sessionId}/prompt`, { body });
}

function streamOf({ world }: People, person: Person, path: string) {
  return StreamClient.open(world, path, { ...person.headers, "last-event-id": "0" });
}

describe("deleting a tenant over HTTP", () => {
  it.each([{}, { confirm: "other" }, { confirm: "ACME" }, { confirm: ["acme"] }])(
    "needs its name: %j is not enough, and is told what is",
    async (body) => {
      const { ada } = await opened();
      const { status, body: said } = await ada.call("DELETE", "/tenant", { body });
      expect([status, said.code]).toEqual([400, "invalid_request"]);
      expect(said.error).toContain('send the body {"confirm":"acme"}.');
      expect((await ada.call("GET", "/members")).status).toBe(200);
    },
  );

  it.each<Role>(["admin", "member", "viewer"])("is not for %ss", async (role) => {
    const { people, ada } = await opened();
    const bob = await people.person("bob", role);
    const { status, body } = await bob.call("DELETE", "/tenant", CONFIRMED);
    expect([status, body.code, body.roles]).toEqual([403, "role_required", "owners"]);
    expect((await ada.call("GET", "/members")).status).toBe(200);
  });

  it("P8: is not for owners of another: their own name is asked for", async () => {
    const { ada, zoe } = await opened();
    const { status, body } = await zoe.call("DELETE", "/tenant", CONFIRMED);
    expect([status, body.error]).toEqual([400, expect.stringContaining('{"confirm":"other"}')]);
    expect((await ada.call("GET", "/members")).status).toBe(200);
  });

  it("P2, P5: ends its sessions, with a verdict for each prompt, and its streams", async () => {
    const { people, ada } = await opened();
    const [idle, busy] = [await made(ada), await made(ada)];
    const streams = [
      await streamOf(people, ada, `/session/${idle}/events`),
      await streamOf(people, ada, `/session/${busy}/events`),
    ];
    const all = await streamOf(people, ada, "/events");
    const [running, waiting] = [
      await prompted(ada, busy, "say at work\nsleep 60000"),
      await prompted(ada, busy, "say later"),
    ];
    await heard(all, "replay_complete");
    const gone = await ada.call("DELETE", "/tenant", CONFIRMED);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    for (const stream of streams) {
      expect(await stream.over()).toBe("ended");
      expect(stream.frames.at(-1)?.event).toBe("session_closed");
    }
    const verdicts = streams[1]?.frames.filter(({ event }) => event === "turn_error") ?? [];
    expect(verdicts.map(({ data }) => data.data)).toMatchObject([
      { promptId: running.body.promptId, code: "session_closed" },
      { promptId: waiting.body.promptId, code: "session_closed" },
    ]);
    expect(await all.over()).toBe("ended");
    const { event, data } = all.frames.at(-1) ?? expect.fail();
    expect([event, data.data.errorKind]).toEqual(["stream_error", "tenant_deleted"]);
    expect(people.world.daemon.host.live).toEqual([]);
  });

  it("leaves tokens that nobody knows, and nothing in the store", async () => {
    const { people, ada } = await opened();
    const bob = await people.person("bob", "viewer");
    await made(ada);
    await ada.call("POST", "/credits/grants", { body: { amountMicro: 7, id: "g" } });
    await ada.call("DELETE", "/tenant", CONFIRMED);
    const nobody = await ada.with("fmt_acme_nonsense").call("GET", "/capabilities");
    for (const person of [ada, bob]) {
      const { status, text } = await person.call("GET", "/capabilities");
      expect([status, text]).toEqual([401, nobody.text]);
    }
    const { store } = people.world.daemon.world;
    expect(await store.tenants()).toEqual({ ok: true, value: [OTHER] });
    expect(await store.list(ACME, {}, { limit: 9, cursor: null })).toMatchObject({
      value: { sessions: [] },
    });
  });

  it("is one line of the server's log, with who, what and how much", async () => {
    const { people, ada } = await opened();
    const told: object[] = [];
    const { world } = people.world.daemon;
    Object.assign(world, { log: (what: string, about: object) => told.push({ what, ...about }) });
    for (const _ of [1, 2]) await made(ada);
    await ada.call("DELETE", "/tenant", CONFIRMED);
    const line = { what: "tenant deleted", tenantId: "acme", by: "ada", sessions: 2 };
    expect(told.filter((one) => "by" in one)).toEqual([line]);
  });

  it("P8: changes nothing of another, in the middle of whose turn it comes", async () => {
    const { people, ada, zoe } = await opened();
    const hers = await made(ada);
    await prompted(ada, hers, "sleep 60000");
    const sessionId = await made(zoe);
    const stream = await streamOf(people, zoe, `/session/${sessionId}/events`);
    const consoleOf = await streamOf(people, zoe, "/events");
    await zoe.call("POST", "/credits/grants", { body: { amountMicro: 7, id: "g" } });
    await prompted(zoe, sessionId, "ask");
    const asked = await heard(stream, "permission_request");
    const before = await reads(zoe, sessionId);
    expect((await ada.call("DELETE", "/tenant", CONFIRMED)).status).toBe(204);
    expect(await reads(zoe, sessionId)).toEqual(before);
    const vote = { body: { outcome: { outcome: "cancelled" } } };
    const { requestId } = asked.data.data;
    const voted = await zoe.call("POST", `/session/${sessionId}/permission/${requestId}`, vote);
    expect(voted.status).toBe(200);
    await heard(stream, "turn_complete");
    expect([stream.isOver, consoleOf.isOver]).toEqual([null, null]);
    for (const one of [stream, consoleOf]) one.leave();
  });
});

/** All that a caller can read of the tenant and of a session that waits. */
async function reads(person: Person, sessionId: string) {
  const session = `/session/${sessionId}`;
  const paths = ["/members", "/credits", "/credits/statement", "/workspaces", "/audit"];
  const mine = ["/status", "/fields", "/transcript", "/context", "/pending-prompts", "/audit"];
  const all = [...paths, ...mine.map((path) => `${session}${path}`)];
  const texts: string[] = [];
  for (const path of all) {
    const { status, text } = await person.call("GET", path);
    expect([path, status]).toEqual([path, 200]);
    texts.push(text);
  }
  return texts;
}

describe("while a tenant is being deleted", () => {
  it("its requests are refused, those of others are not, and it is deleted once", async () => {
    const { people, ada, zoe } = await opened();
    const { tenants } = people.world.daemon.world;
    const { promise: atWork, resolve: end } = Promise.withResolvers<void>();
    void tenants.count(ACME, atWork);
    const deleting = ada.call("DELETE", "/tenant", CONFIRMED);
    await expect.poll(() => tenants.isClosed(ACME)).toBe(true);
    const asked = [
      await ada.call("GET", "/members"),
      await ada.call("POST", "/session", { body: {} }),
      await ada.call("DELETE", "/tenant", CONFIRMED),
    ];
    expect(asked.map(({ status, body }) => [status, body.code])).toEqual(
      Array.from({ length: 3 }, () => [503, "tenant_deleting"]),
    );
    expect(asked[0]?.headers["retry-after"]).toBeDefined();
    expect((await zoe.call("GET", "/members")).status).toBe(200);
    end();
    expect((await deleting).status).toBe(204);
  });

  it("a request whose body comes to its end only afterwards is nobody's", async () => {
    const { people, ada } = await opened();
    const headers = { ...ada.headers, "content-type": "application/json" };
    const { port } = people.world;
    const options = { port, host: "127.0.0.1", path: "/session", method: "POST", headers };
    const answered = Promise.withResolvers<number>();
    const slow = request({ ...options, agent: false }, (response) => {
      answered.resolve(response.resume().statusCode ?? 0);
    });
    slow.write('{"sessionScope":');
    await expect.poll(() => people.world.server.openRequestCount).toBe(1);
    // Its head has been looked at as soon as one that came later has its answer.
    await ada.call("GET", "/members");
    await ada.call("DELETE", "/tenant", CONFIRMED);
    slow.end('"thread"}');
    expect(await answered.promise).toBe(401);
    const { store } = people.world.daemon.world;
    expect(await store.tenants()).toEqual({ ok: true, value: [OTHER] });
  });
});

describe("a file that somebody reads slowly while a tenant is deleted", () => {
  it("P8: is cut off, and has nothing of the next tenant of that name", async () => {
    const { people, ada } = await opened();
    const { store } = people.world.daemon.world;
    await filled(store, ACME, "OLD", 2_000);
    const rest = await begunFile(people, ada);
    expect((await ada.call("DELETE", "/tenant", CONFIRMED)).status).toBe(204);
    const next = await people.person("ada", "owner");
    await filled(store, ACME, "NEW", 2_500);
    const { text, isWhole } = await rest();
    expect(isWhole).toBe(false);
    expect(text).toContain("OLD");
    expect(text).not.toContain("NEW");
    expect((await next.call("GET", "/audit?format=csv")).text).toContain("NEW");
  });

  it("goes on to its end if it is another's", async () => {
    const { people, ada, zoe } = await opened();
    await filled(people.world.daemon.world.store, OTHER, "OLD", 2_000);
    const rest = await begunFile(people, zoe);
    expect((await ada.call("DELETE", "/tenant", CONFIRMED)).status).toBe(204);
    const { text, isWhole } = await rest();
    expect(isWhole).toBe(true);
    expect(text.split("OLD")).toHaveLength(2_001);
  });
});

/** Audit entries so long that no system buffers them all for a client that does not read. */
async function filled(store: SessionStore, tenantId: TenantId, mark: string, count: number) {
  const details = { note: mark + "x".repeat(8_000) };
  for (let first = 0; first < count; first += 100) {
    const entries = Array.from({ length: 100 }, (_, n) => {
      const key = `${mark} ${first + n}`;
      return changeEntry({ act: "credits_granted", by: OPERATOR, details, atMs: n, key });
    });
    expect(await store.appendJournal(tenantId, entries)).toMatchObject({ ok: true });
  }
}

/** Asks for an audit, and reads no more than its beginning until the rest is asked for. */
async function begunFile({ world: { port } }: People, { headers }: Person) {
  const options = { port, host: "127.0.0.1", path: "/audit?format=csv", headers, agent: false };
  const answered = Promise.withResolvers<IncomingMessage>();
  request(options, answered.resolve).end();
  const response = await answered.promise;
  const over = new Promise((resolve) => response.once("close", resolve));
  response.on("error", () => {}).setEncoding("utf8");
  await new Promise((resolve) => response.once("readable", resolve));
  return async () => {
    let text = "";
    response.on("data", (piece) => {
      text += piece;
    });
    await over;
    return { text, isWhole: response.complete };
  };
}

describe("a tenant of which a server elsewhere has sessions", () => {
  it("stays as it is, before anything has ended, and it is said what helps", async () => {
    const { people, ada } = await opened();
    const { store } = people.world.daemon.world;
    const held = [await made(ada), await made(ada)].toSorted();
    for (const id of held) {
      await prompted(ada, id, "say hello");
      await ada.call("DELETE", `/session/${id}`);
      const key = { tenantId: ACME, sessionId: parseSessionId(id) ?? expect.fail() };
      const entry = changeEntry({ act: "session_seized", by: OPERATOR, details: {}, atMs: 0 });
      expect(await store.seize(key, ELSEWHERE, [entry])).toMatchObject({ ok: true });
    }
    const mine = await made(ada);
    const stream = await streamOf(people, ada, `/session/${mine}/events`);
    const all = await streamOf(people, ada, "/events");
    const { status, body } = await ada.call("DELETE", "/tenant", CONFIRMED);
    expect([status, body.code, body.count]).toEqual([409, "tenant_locked", 2]);
    expect(String(body.sessionIds).split(", ").toSorted()).toEqual(held);
    expect(body.error).toContain("another (process 7 on elsewhere)");
    expect(body.error).toContain('"fermata seize ID --tenant acme" frees a session.');
    await prompted(ada, mine, "say still here");
    await heard(stream, "turn_complete");
    expect([stream.isOver, all.isOver]).toEqual([null, null]);
    for (const one of [stream, all]) one.leave();
  });

  it("P8: is not looked at for so long that the next of its name is deleted instead", async () => {
    const slow = { isSlow: false, askedCount: 0, ...Promise.withResolvers<void>() };
    const wrap = (real: SessionStore) =>
      altered(real, {
        list: async (...asked) => {
          const page = await real.list(...asked);
          slow.askedCount += 1;
          if (slow.isSlow) await slow.promise;
          return page;
        },
      });
    const people = await People.open({ stage: { meter, wrap }, settings: { token: "unused" } });
    const ada = await people.person("ada", "owner");
    slow.isSlow = true;
    const { askedCount } = slow;
    const late = ada.call("DELETE", "/tenant", CONFIRMED);
    await expect.poll(() => slow.askedCount).toBe(askedCount + 1);
    slow.isSlow = false;
    expect((await ada.call("DELETE", "/tenant", CONFIRMED)).status).toBe(204);
    const next = await people.person("ada", "owner");
    slow.resolve();
    expect((await late).body.code).toBe("tenant_deleting");
    expect((await next.call("GET", "/members")).status).toBe(200);
  });
});

/** This process cannot tell whether it is gone. */
const ELSEWHERE = { ...thisHolder("another"), host: "elsewhere", bootId: "another", pid: 7 };

describe("the tenant of a server without tokens", () => {
  it("is deleted the same way, and is there again with nothing in it", async () => {
    const routes = (daemon: Daemon) => allRoutes(daemon, "0", async () => IDLE).routes;
    const world = await DaemonWorld.open({ routes, needsToken: false, stage: { meter } });
    const before = await world.call("POST", "/session", { body: {} });
    await world.call("POST", "/credits/grants", { body: { amountMicro: 7, id: "g" } });
    const gone = await world.call("DELETE", "/tenant", { body: { confirm: "local" } });
    expect(gone.status).toBe(204);
    const { store } = world.daemon.world;
    expect(await store.tenants()).toEqual({ ok: true, value: [] });
    const path = `/session/${before.body.sessionId}/load`;
    expect((await world.call("POST", path, { body: {} })).status).toBe(404);
    expect((await world.call("GET", "/credits")).body).toMatchObject({ grantedMicro: 0 });
    const after = await world.call("POST", "/session", { body: {} });
    expect(after.body).toMatchObject({ attached: false });
    expect(world.daemon.host.liveOf(LOCAL.tenantId)).toHaveLength(1);
  });
});
