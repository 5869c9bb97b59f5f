import { afterEach, describe, expect, it } from "vitest";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { Door } from "../../session/altered-store.fixture.ts";
import type { Chunk, Notice } from "../../session/bus/frame.ts";
import { value } from "../../store/kit/expect.ts";
import { events, json } from "../http/answer.ts";
import { byToken } from "../http/authenticator.ts";
import type { EventSource } from "../http/event-stream.ts";
import { route } from "../http/route.ts";
import { closeServers, serve, UNDESCRIBED } from "../http/server.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { ACME, BY_OWNER, IdentityWorld, OPERATOR, user } from "./identity.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

const ROW = { gate: "strict", clientId: "ignored", body: "json" } as const;

/** A source that has nothing to tell, and knows with what word it was ended. */
class SilentSource implements EventSource {
  readonly #over = Promise.withResolvers<IteratorResult<Chunk, undefined>>();
  lastWord: string | null = null;

  next() {
    return this.#over.promise;
  }

  cancel() {
    this.#over.resolve({ done: true, value: undefined });
  }

  end(last: Notice | null) {
    this.lastWord = last?.text ?? null;
    this.cancel();
  }
}

async function streaming() {
  const clock = new ManualClock();
  const people = await People.open({ clock });
  const ada = await people.person("ada", "owner");
  const bob = await people.person("bob", "member");
  const made = await ada.call("POST", "/session", { body: { sessionScope: "thread" } });
  const path = `/session/${made.body.sessionId}/events`;
  const streams = [
    await StreamClient.open(people.world, path, bob.headers),
    await StreamClient.open(people.world, "/events", bob.headers),
  ];
  const others = await StreamClient.open(people.world, path, ada.headers);
  await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(3);
  return { clock, people, ada, bob, streams, others };
}

describe("a trace of agents", () => {
  afterEach(closeServers);

  it("P8: ends within a moment if the token of its reader is revoked", async () => {
    const clock = new ManualClock();
    const people = await People.open({ clock });
    const bob = await people.person("bob", "owner");
    const ada = await people.person("ada", "owner");
    const opened = async ({ headers }: Person) => {
      const { body } = await fetch(`${people.world.url}/agents/trace`, { headers });
      const lines = body?.getReader() ?? expect.fail("there is nothing to read");
      expect(new TextDecoder().decode((await lines.read()).value)).toContain("begun");
      return lines;
    };
    const [his, hers] = [await opened(bob), await opened(ada)];
    const end = his.read();
    let isOver = false;
    void hers.closed
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    await value(people.tokens.revoke(ACME, bob.tokenId, OPERATOR));
    clock.advance(STREAM_RECHECK_MS);
    expect((await end).done).toBe(true);
    expect(isOver).toBe(false);
    await hers.cancel();
    await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(0);
  });
});

describe("the streams of somebody", () => {
  afterEach(closeServers);

  it.each<[string, (people: People, tokenId: string) => Promise<unknown>]>([
    ["whose token is revoked", ({ tokens }, id) => value(tokens.revoke(ACME, id, OPERATOR))],
    ["who is removed", ({ members }) => value(members.remove(ACME, user("bob"), OPERATOR))],
  ])("%s end within a moment, and nobody else's", async (_what, act) => {
    const { clock, people, bob, streams, others } = await streaming();
    await act(people, bob.tokenId);
    clock.advance(STREAM_RECHECK_MS);
    for (const stream of streams) {
      await stream.until(({ isOver }) => isOver !== null);
      const last = stream.frames.at(-1);
      expect(last?.data).toMatchObject({
        type: "stream_error",
        data: { errorKind: "unauthorized" },
      });
    }
    await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(1);
    expect(others.isOver).toBeNull();
    others.leave();
  });

  it.each<[string, (ada: Person, tokenId: string) => Promise<{ readonly status: number }>]>([
    ["whose token is revoked", (ada, id) => ada.call("DELETE", `/tokens/${id}`)],
    ["whose token is rotated", (ada, id) => ada.call("POST", `/tokens/${id}/rotate`, { body: {} })],
    ["who is removed", (ada) => ada.call("DELETE", "/members/bob")],
  ])("%s here end at once, and nobody else's", async (_what, act) => {
    const { clock, ada, bob, streams, others, people } = await streaming();
    expect(people.world.server.streamCountOf(ACME)).toBe(3);
    expect((await act(ada, bob.tokenId)).status).toBeLessThan(300);
    for (const stream of streams) await stream.until(({ isOver }) => isOver !== null);
    await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(1);
    expect(people.world.server.streamCountOf(ACME)).toBe(1);
    expect(others.isOver).toBeNull();
    others.leave();
  });

  it("who is removed while one is being opened: it ends at once", async () => {
    const clock = new ManualClock();
    const store = await IdentityWorld.open();
    const door = new Door();
    const source = new SilentSource();
    const slow = route({
      ...ROW,
      method: "GET",
      path: "/slow",
      about: UNDESCRIBED,
      needs: "session:read",
      handle: async () => {
        await door.pass();
        return events(source, null);
      },
    });
    const removing = route({
      ...ROW,
      method: "POST",
      path: "/remove",
      about: UNDESCRIBED,
      needs: "members:delete",
      handle: async () => {
        await value(store.members.remove(ACME, user("bob"), OPERATOR));
        return json(200, {});
      },
    });
    const authenticator = byToken([store.way]);
    const world = await serve([slow, removing], {}, { authenticator, clock });
    const [ada, bob] = [await store.token("ada", "owner"), await store.token("bob", "member")];
    const authorization = (text: string) => ({ authorization: `Bearer ${text}` });
    const opening = door.shut();
    const opened = StreamClient.open(world, "/slow", authorization(bob.text));
    await opening;
    expect((await world.post("/remove", {}, authorization(ada.text))).status).toBe(200);
    door.open();
    const stream = await opened;
    // The clock stands still: no check ran because it was due.
    await stream.until(({ isOver }) => isOver !== null);
    expect(source.lastWord).toContain('"errorKind":"unauthorized"');
  });

  it("who may still read goes on, as what they are now", async () => {
    const { clock, people, streams, others } = await streaming();
    await value(people.members.put(ACME, user("bob"), "viewer", BY_OWNER));
    clock.advance(STREAM_RECHECK_MS);
    await expect.poll(() => clock.running(STREAM_RECHECK_MS)).toBe(3);
    for (const stream of [...streams, others]) {
      expect(stream.isOver).toBeNull();
      stream.leave();
    }
  });
});
