import { describe, expect, it, vi } from "vitest";
import { SESSION_IDLE_MS } from "../../core/limits.ts";
import { fail } from "../../core/result.ts";
import { SERVER } from "../../core/session/command.ts";
import { IDLE } from "../http/server.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import {
  bodyFor,
  byName,
  type Names,
  pathOf,
  SESSION_NAME,
  seen,
  things,
  unknown,
  withQueries,
} from "./apart.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

/** A team with tokens: beside owners only the user who makes a session sees it. */
async function open() {
  const people = await People.open({
    settings: { token: "unused", enableShell: true },
    visibility: "private",
  });
  const own = await people.person("ownown", "owner");
  const ada = await people.person("adaada", "member");
  const others = {
    member: await people.person("bobbob", "member"),
    viewer: await people.person("vicvic", "viewer"),
    admin: await people.person("admadm", "admin"),
  };
  return { people, own, ada, others, names: await things(people, ada, own) };
}

interface Opened extends Awaited<ReturnType<typeof open>> {
  readonly path: string;
}

/** Its turn is cancelled first, since what is at work is not evicted. */
async function evictAll({ world }: People): Promise<void> {
  const { host } = world.daemon;
  for (const { key } of host.live) {
    await host.close(key, SERVER);
    await host.resume(key, SERVER);
  }
  world.stage.aheadMs += SESSION_IDLE_MS;
  await host.reapIdle();
  await expect.poll(() => host.live.length).toBe(0);
}

async function closedAndStored({ people, ada, path }: Opened): Promise<void> {
  await evictAll(people);
  expect((await ada.call("DELETE", path)).status).toBe(204);
  await ada.call("GET", `${path}/status`);
  await ada.call("GET", `${path}/context`);
  await expect.poll(() => people.world.daemon.host.live.length).toBe(0);
}

async function deleted({ own, names }: Opened): Promise<void> {
  const body = { sessionIds: [names.sessionId] };
  const gone = await own.call("POST", "/sessions/delete", { body });
  expect(gone.body).toMatchObject({ removed: [names.sessionId] });
}

/** The session is evicted, and its record cannot be read any more. */
async function damaged({ people, own, path }: Opened): Promise<void> {
  await evictAll(people);
  const { store } = people.world.daemon.world;
  vi.spyOn(store, "readRecord").mockImplementation(async (key) => {
    const isIt = path.endsWith(key.sessionId);
    const { sessionId } = key;
    return isIt ? fail("session_corrupt") : fail("session_not_found", { sessionId });
  });
  expect((await own.call("GET", `${path}/status`)).status).toBe(500);
}

/** Sends the same request for what there is and for what there is not. */
async function bothAnswers(
  caller: Person,
  names: Names,
  { method, path, clientId }: { method: string; path: string; clientId?: string },
) {
  const none = { ...unknown(names), workspace: names.workspace };
  const ask = (of: Names) =>
    caller.call(method, pathOf(path, of), {
      ...(method === "GET" || method === "DELETE" ? {} : { body: bodyFor(path, of) }),
      ...(clientId === "registered" ? { clientId: of.clientId } : {}),
    });
  const [theirs, nothing] = [await ask(names), await ask(none)];
  return [seen(theirs, names), seen(nothing, none)] as const;
}

describe("P8: a private session of a colleague", () => {
  it.each(["member", "viewer", "admin"] as const)(
    "is answered to a %s byte for byte like one that is not there, on every route",
    async (role) => {
      const { people, ada, others, names } = await open();
      const { routes } = allRoutes(people.world.daemon, "0", async () => IDLE);
      const ofSessions = routes.filter(({ path }) => {
        return path.startsWith("/session/:id") || path === "/permission/:requestId";
      });
      const named = withQueries(ofSessions);
      expect(named.length).toBeGreaterThan(35);
      for (const route of named) {
        for (const of of [names, byName(names)]) {
          const [theirs, nothing] = await bothAnswers(others[role], of, route);
          expect({ ...route, ...theirs }).toEqual({ ...route, ...nothing });
        }
      }
      const status = await ada.call("GET", `/session/${names.sessionId}/status`);
      expect(status.body).toMatchObject({ status: "waiting", clientCount: 1 });
    },
    60_000,
  );

  it.each([
    ["is only stored", ({ people }: Opened) => evictAll(people)],
    ["was closed", ({ ada, path }: Opened) => ada.call("DELETE", path)],
    ["was closed and is only stored", closedAndStored],
    ["was deleted", deleted],
    ["is damaged", damaged],
  ] as const)(
    "is answered so on every route when it %s",
    async (_, change) => {
      const opened = await open();
      const { people, others, names } = opened;
      const path = `/session/${names.sessionId}`;
      await change({ ...opened, path });
      const { routes } = allRoutes(people.world.daemon, "0", async () => IDLE);
      const named = routes.filter((one) => one.path.startsWith("/session/:id"));
      for (const route of withQueries(named)) {
        for (const of of [names, byName(names)]) {
          const [theirs, nothing] = await bothAnswers(others.member, of, route);
          expect({ ...route, ...theirs }).toEqual({ ...route, ...nothing });
        }
      }
      const body = { sessionIds: [names.sessionId] };
      const batch = await others.admin.call("POST", "/sessions/delete", { body });
      expect(batch.body).toEqual({ removed: [], notFound: [names.sessionId], errors: [] });
    },
    60_000,
  );

  it("is neither listed, counted, searched nor named to them, and is to owners", async () => {
    const { own, ada, others, names } = await open();
    const { workspace } = names;
    const texts = [
      ...[`/workspace/${workspace}/sessions`, `/workspaces/${workspace}/sessions`],
      ...["/sessions", "/sessions?status=waiting", "/sessions?user=adaada", "/asks"],
      ...["/sessions?agent=echo", `/sessions?name=${SESSION_NAME}`],
      ...["/search?q=say", "/search?q=say&user=adaada", "/search?q=say&size=1"],
      ...["/health?deep=1", "/audit", `/audit?session=${names.sessionId}`],
      ...["/audit?format=ndjson", "/audit?format=csv", "/credits/statement", "/credits/usage"],
    ];
    for (const other of Object.values(others)) {
      for (const path of texts) {
        const { text } = await other.call("GET", path);
        expect(text).not.toContain(names.sessionId);
        expect(text).not.toContain(names.promptId);
        expect(text).not.toContain(SESSION_NAME);
      }
      const info = await other.call("GET", `/workspace/${workspace}/session-info`);
      expect(info.body).toMatchObject({ active: 0, total: 0, live: 0 });
    }
    for (const one of [own, ada]) {
      for (const path of [`/workspace/${workspace}/sessions`, "/sessions", "/asks"]) {
        expect((await one.call("GET", path)).text).toContain(names.sessionId);
      }
      const info = await one.call("GET", `/workspace/${workspace}/session-info`);
      expect(info.body).toMatchObject({ total: 1, live: 1 });
    }
    expect((await own.call("GET", `/audit?session=${names.sessionId}`)).text).toContain("waiting");
  });
});
