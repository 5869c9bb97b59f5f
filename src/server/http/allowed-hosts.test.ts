import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { json } from "./answer.ts";
import { answering, bodyOf, closeServers, type ServerWorld, serve } from "./server.fixture.ts";

const TOKEN = "correct-horse-battery";
const BEARER = { authorization: `Bearer ${TOKEN}` };
const ROUTES = [answering("/thing", async () => json(200, { thing: true }))];

let guarded: ServerWorld;
let open: ServerWorld;

beforeAll(async () => {
  const allowHosts = ["Box.tail-1.ts.net", "[fd00::1]"];
  guarded = await serve(ROUTES, { token: TOKEN, allowHosts });
  open = await serve(ROUTES);
});

afterAll(closeServers);

/** What is said about a request with these headers. */
async function refusalOf(world: ServerWorld, headers: Readonly<Record<string, string>>) {
  const answer = await world.ask("/thing", { headers });
  expect(answer.status).toBe(403);
  return String(bodyOf(answer).error);
}

describe("a host that the operator has allowed", () => {
  it.each(["box.tail-1.ts.net", "BOX.tail-1.ts.net", "box.tail-1.ts.net:8443", "[fd00::1]:80"])(
    "is a valid one, with the port of any proxy: %s",
    async (host) => {
      const asked = { headers: { host, ...BEARER } };
      expect(await guarded.ask("/thing", asked)).toMatchObject({ status: 200 });
      expect(await guarded.ask("/thing", { headers: { host } })).toMatchObject({ status: 401 });
    },
  );

  it("is where a page is at home that comes under its name, and no other page is", async () => {
    const headers = { host: "box.tail-1.ts.net", ...BEARER };
    const statusOf = async (origin: string) =>
      (await guarded.ask("/thing", { headers: { ...headers, origin } })).status;
    expect(await statusOf("https://box.tail-1.ts.net")).toBe(200);
    expect(await statusOf("https://other.tail-1.ts.net")).toBe(403);
    expect(await statusOf("https://box.tail-1.ts.net:8443")).toBe(403);
  });

  it.each(["tail-1.ts.net", "x.box.tail-1.ts.net", "box.tail-1.ts.net.evil.example", "fd00::1"])(
    "does not stand for another one: %s",
    async (host) => {
      const asked = { headers: { host, ...BEARER } };
      expect(await guarded.ask("/thing", asked)).toMatchObject({ status: 403 });
    },
  );
});

describe("the refusal of a host", () => {
  it("names the option that allows it, and what else that needs", async () => {
    const headers = { host: "mybox.local:8080" };
    expect(await refusalOf(guarded, headers)).toBe(
      "Invalid Host header: start the server with --allow-host mybox.local to allow this name.",
    );
    expect(await refusalOf(open, headers)).toBe(
      "Invalid Host header: " +
        "start the server with --allow-host mybox.local and a token to allow this name.",
    );
  });

  it("says what is missing where the name is right", async () => {
    for (const host of ["localhost", "localhost:1"]) {
      expect(await refusalOf(open, { host })).toBe(
        `Invalid Host header: this server is at port ${open.port}, ` +
          `so the header is localhost:${open.port}.`,
      );
    }
    expect(await refusalOf(open, { host: `host.docker.internal:${open.port}` })).toBe(
      "Invalid Host header: start the server with a token to allow host.docker.internal.",
    );
  });

  it.each([
    `${"x".repeat(64)}.example`,
    "a.".repeat(500),
    "<b>bold</b>",
    "a b",
    'a"b',
    "-a.example",
  ])("repeats no name that is none: %j", async (host) => {
    expect(await refusalOf(guarded, { host })).toBe(
      "Invalid Host header: start the server with --allow-host NAME to allow this name.",
    );
  });
});

describe("the refusal of a page", () => {
  it.each([
    "https://page.example",
    "http://localhost:5173",
    "http://[::1]:5173",
    "vscode-webview://abc-1",
  ])("names the option that allows it: %s", async (origin) => {
    expect(await refusalOf(open, { origin })).toBe(
      "Request denied by CORS policy: " +
        `start the server with --allow-origin ${origin} to allow the pages of this origin.`,
    );
  });

  it.each<Readonly<Record<string, string>>>([
    { origin: `https://${"x".repeat(256)}` },
    { origin: "https://<b>bold</b>" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
  ])("repeats no origin that is none: %j", async (headers) => {
    expect(await refusalOf(open, headers)).toBe(
      "Request denied by CORS policy: " +
        "start the server with --allow-origin URL to allow the pages of this origin.",
    );
  });

  it("says that a page without an origin cannot be allowed", async () => {
    expect(await refusalOf(open, { origin: "null" })).toBe(
      "Request denied by CORS policy: " +
        "a page without an origin, such as a file, cannot be allowed.",
    );
  });
});

describe("a token for a server that has none", () => {
  it("is ignored, and the operator's log says so once", async () => {
    for (let times = 0; times < 2; times += 1) {
      expect(await open.ask("/thing", { headers: BEARER })).toMatchObject({ status: 200 });
    }
    expect(open.logged.filter((line) => line.startsWith("token ignored"))).toEqual([
      'token ignored {"advice":"a caller sent a token, but this server has none: ' +
        'start it with --token-file FILE"}',
    ]);
    expect(open.logged.join()).not.toContain(TOKEN);
  });
});
