import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { DaemonWorld, LOCAL, STRANGER } from "../daemon.fixture.ts";
import { createRoute } from "../route/create.ts";
import { closeRoute } from "../route/session.ts";
import { pagesOf } from "./home.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function open(needsToken: boolean) {
  return DaemonWorld.open({
    needsToken,
    routes: (daemon) => [createRoute(daemon), closeRoute(daemon)].flat(),
    pages: (daemon) => pagesOf(daemon, { version: "1.2.3", needsToken, web: null }),
  });
}

/** The rows of the table: how many sessions have which status. */
function countsIn(text: string): Readonly<Record<string, number>> {
  const rows = text.matchAll(/<td class="count">(\d+)<\/td><td class="name">(\w+)<\/td>/g);
  return Object.fromEntries([...rows].map(([, count, name]) => [name, Number(count)]));
}

async function make(world: DaemonWorld, as = LOCAL): Promise<string> {
  const { body } = await world.call("POST", "/session", { as, body: { sessionScope: "thread" } });
  return String(body.sessionId);
}

describe("GET /", () => {
  it("shows the sessions of a server without tokens by status", async () => {
    const world = await open(false);
    expect((await world.call("GET", "/")).text).toContain("None yet.");
    await make(world);
    await make(world);
    await world.call("DELETE", `/session/${await make(world)}`);
    const { status, text } = await world.call("GET", "/");
    expect(status).toBe(200);
    // A session that was closed before any prompt is gone.
    expect(countsIn(text)).toEqual({ ready: 2 });
  });

  it("P8: counts no session of another tenant", async () => {
    const world = await open(false);
    await make(world, STRANGER);
    expect((await world.call("GET", "/")).text).toContain("None yet.");
  });

  it("P8: shows nothing of sessions where callers need a token, not even with one", async () => {
    const world = await open(true);
    const before = await world.call("GET", "/");
    const id = await make(world);
    for (const headers of [{}, { authorization: "Bearer nonsense" }, BROWSER]) {
      const { status, text } = await world.call("GET", "/", { headers });
      expect({ status, text }).toEqual({ status: 200, text: before.text });
      expect(text).not.toContain(id);
    }
    expect((await world.call("GET", "/", { as: LOCAL })).text).toBe(before.text);
    expect(before.text).toContain(`fermata join CODE --url http://127.0.0.1:${world.port}`);
    expect(before.text).not.toContain("<table>");
  });

  it("loads nothing, runs nothing and is in no frame; HEAD has the same head", async () => {
    const world = await open(false);
    const { headers, text } = await world.call("GET", "/");
    const [, style = ""] = /<style>(.*?)<\/style>/s.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": [
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'`,
        "form-action 'none'; frame-ancestors 'none'",
      ].join("; "),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(text).not.toMatch(
      /<script|<link|<img|<iframe|\sstyle=|\son\w+=|\s(?:src|href)="(?!\/")/i,
    );
  });

  it("escapes what it shows, and shows only a host name that is one", async () => {
    const world = await DaemonWorld.open({
      settings: { hostname: "0.0.0.0", token: "a-token-that-is-long-enough" },
      routes: () => [],
      pages: (daemon) => pagesOf(daemon, { version: "1.<b>", needsToken: true, web: null }),
    });
    for (const name of ["a<script>", 'b"$(reboot)', "c;d"]) {
      const { text } = await world.call("GET", "/", { headers: { host: name } });
      expect(text).toContain("URL=http://this-server\n");
      expect(text).toContain("1.&#60;b&#62;");
      expect(text).not.toContain(name);
    }
    const headers = { "x-forwarded-host": "fermata.example", "x-forwarded-proto": "https" };
    const { text } = await world.call("GET", "/", { headers });
    expect(text).toContain("URL=https://fermata.example\n");
  });
});

describe("a path that is not there", () => {
  it("is a small page for a browser, with a link to the first one", async () => {
    const world = await open(true);
    const answer = await world.call("GET", "/no<b>/such", { headers: BROWSER });
    expect(answer).toMatchObject({
      status: 404,
      headers: { "content-type": "text/html; charset=utf-8" },
    });
    expect(answer.text).toContain('<a href="/">');
    expect(answer.text).not.toContain("such");
  });

  it("is JSON for all others, and for what browsers do not open", async () => {
    const world = await open(false);
    const code = "route_not_found";
    expect(await world.call("GET", "/none")).toMatchObject({ status: 404, body: { code } });
    const posted = await world.call("POST", "/none", { headers: BROWSER });
    expect(posted).toMatchObject({ status: 404, body: { code } });
    const root = await world.call("POST", "/", { headers: BROWSER });
    expect(root).toMatchObject({ status: 404, body: { code } });
  });
});

describe("the rate of pages", () => {
  it("is that of reads, apart from callers at the same address", async () => {
    const world = await DaemonWorld.open({
      settings: { rateLimit: { read: 2 } },
      routes: () => [],
      pages: (daemon) => pagesOf(daemon, { version: "1", needsToken: true, web: null }),
    });
    const statuses: number[] = [];
    for (let at = 0; at < 3; at += 1) statuses.push((await world.call("GET", "/")).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await world.call("GET", "/none")).status).toBe(404);
    expect(world.server.rateLimitHits).toMatchObject({ read: 1 });
  });
});
