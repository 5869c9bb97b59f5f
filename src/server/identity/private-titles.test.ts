import { describe, expect, it } from "vitest";
import { IDLE } from "../http/server.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import { People, type Person } from "./people.fixture.ts";

const WORDS = "the merger with Globex";

/** A session of this person, called by the words of its first prompt. */
async function titled({ world }: People, person: Person, words: string): Promise<string> {
  const made = await person.call("POST", "/session", { body: { sessionScope: "thread" } });
  const path = `/session/${made.body.sessionId}`;
  const prompt = [{ type: "text", text: `say ${words}` }];
  const stream = await StreamClient.open(world, `${path}/events`, person.headers);
  await person.call("POST", `${path}/prompt`, { body: { prompt } });
  await stream.until(({ frames }) => frames.some(({ event }) => event === "turn_complete"));
  stream.leave();
  return String(made.body.sessionId);
}

function hasWords({ frames }: StreamClient, words: string): boolean {
  return JSON.stringify(frames).includes(words);
}

describe("P8: the title of a private session", () => {
  it("is told to its creator and owners, and to no colleague, whatever they read", async () => {
    const people = await People.open({ settings: { token: "unused" }, visibility: "private" });
    const ada = await people.person("adaada", "member");
    const others = {
      bob: await people.person("bobbob", "member"),
      adm: await people.person("admadm", "admin"),
    };
    const own = await people.person("ownown", "owner");
    const listen = ({ headers }: Person) => StreamClient.open(people.world, "/events", headers);
    const streams = {
      ada: await listen(ada),
      own: await listen(own),
      bob: await listen(others.bob),
    };
    const sessionId = await titled(people, ada, WORDS);
    for (const one of [streams.ada, streams.own]) await one.until((it) => hasWords(it, WORDS));
    // What comes after it has come to Bob, so it would have come too.
    await titled(people, others.bob, "hello of Bob");
    await streams.bob.until((it) => hasWords(it, "hello of Bob"));
    expect(hasWords(streams.bob, WORDS)).toBe(false);
    const later = await listen(others.bob);
    await later.until((it) => hasWords(it, "hello of Bob"));
    expect(hasWords(later, WORDS)).toBe(false);
    const { routes } = allRoutes(people.world.daemon, "0", async () => IDLE);
    const read = routes.filter(({ method, path }) => method === "GET" && path !== "/events");
    const workspace = encodeURIComponent(people.world.stage.folder);
    const paths = read.map(({ path }) => pathOf(path, workspace, sessionId));
    expect(paths.length).toBeGreaterThan(30);
    for (const [name, other] of Object.entries(others)) {
      for (const path of paths) {
        const { text } = await other.call("GET", path);
        expect({ name, path, tells: text.includes("Globex") }).toMatchObject({ tells: false });
      }
      const body = { displayName: `say ${WORDS}` };
      const taken = await other.call("PATCH", `/session/${sessionId}/metadata`, { body });
      expect(taken.status).toBe(404);
    }
    for (const one of [ada, own]) {
      expect((await one.call("GET", `/workspace/${workspace}/sessions`)).text).toContain(WORDS);
    }
  });
});

function pathOf(path: string, workspace: string, sessionId: string): string {
  const isWorkspace = /^\/workspaces?\//.test(path);
  return path
    .replace(":workspace", workspace)
    .replace(":id", isWorkspace ? workspace : sessionId)
    .replaceAll(/:[a-zA-Z]+/g, "none");
}
