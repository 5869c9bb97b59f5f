import { afterEach, describe, expect, it } from "vitest";
import { json } from "./answer.ts";
import { answering, bodyOf, closeServers, mirror, serve } from "./server.fixture.ts";

afterEach(closeServers);

const PAGE = "https://page.example";
const TOKEN = "correct-horse-battery";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const ROUTES = [
  answering("/thing", async () => json(200, { thing: true })),
  mirror({ path: "/mirror" }),
  mirror({ path: "/strict", gate: "strict" }),
];

describe("the CORS gate", () => {
  it("lets pass, and adds nothing to, what no web page sent", async () => {
    const world = await serve(ROUTES);
    const { status, headers } = await world.ask("/thing");
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(headers.vary).toBeUndefined();
  });

  it.each(["null", PAGE, "http://localhost", "http://localhost:1", "http://127.0.0.1.evil.com"])(
    "refuses the origin %s, which nobody has allowed",
    async (origin) => {
      const world = await serve(ROUTES);
      const { status, headers, text } = await world.ask("/thing", { headers: { origin } });
      expect(status).toBe(403);
      expect(JSON.parse(text)).toMatchObject({
        error: expect.stringMatching(/^Request denied by CORS policy: ./),
      });
      expect(headers.vary).toBe("Origin");
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    },
  );

  it.each(["127.0.0.1", "localhost", "[::1]"])(
    "takes a page of the server itself at %s for no page at all",
    async (name) => {
      const world = await serve(ROUTES);
      for (const scheme of ["http", "https"]) {
        const origin = `${scheme}://${name}:${world.port}`;
        const { status, headers } = await world.ask("/thing", { headers: { origin } });
        expect({ status, vary: headers.vary }).toEqual({ status: 200, vary: undefined });
      }
    },
  );

  it.each([
    ["no-cors", 403],
    ["navigate", 200],
  ])(
    "treats a page of another site that sends no origin, with %s, as one: %d",
    async (mode, status) => {
      const world = await serve(ROUTES);
      const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": mode };
      expect(await world.ask("/thing", { headers })).toMatchObject({ status });
      const own = { ...headers, "sec-fetch-site": "same-origin" };
      expect(await world.ask("/thing", { headers: own })).toMatchObject({ status: 200 });
    },
  );

  it("tells an allowed page what it may do, also when it is refused something", async () => {
    const world = await serve(ROUTES, { allowOrigins: ["https://PAGE.example"], token: TOKEN });
    const { status, headers } = await world.ask("/thing", { headers: { origin: PAGE } });
    expect(status).toBe(401);
    expect(headers).toMatchObject({
      vary: "Origin",
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
      "access-control-allow-headers":
        "Authorization, Content-Type, X-Qwen-Client-Id, Last-Event-ID, X-Qwen-Event-Epoch, " +
        "Idempotency-Key, X-Request-Id",
      "access-control-max-age": "86400",
      "access-control-expose-headers":
        "Retry-After, X-Qwen-Event-Epoch, X-Qwen-SSE-Stream-Id, X-Request-Id",
    });
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it("answers the preflight of an allowed page before anybody asks for a token", async () => {
    const world = await serve(ROUTES, { allowOrigins: ["*"], token: TOKEN });
    const preflight = { origin: PAGE, "access-control-request-method": "POST" };
    const { status, headers } = await world.ask("/x", { method: "OPTIONS", headers: preflight });
    expect({ status, allowed: headers["access-control-allow-origin"] }).toEqual({
      status: 204,
      allowed: PAGE,
    });
  });

  it("lets no sandboxed page in, even where all others are", async () => {
    const world = await serve(ROUTES, { allowOrigins: ["*"], token: TOKEN });
    expect(await world.ask("/thing", { headers: { origin: "null" } })).toMatchObject({
      status: 403,
    });
  });
});

describe("the Host gate", () => {
  it.each(["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])(
    "knows this machine as %s",
    async (name) => {
      const world = await serve(ROUTES);
      const headers = { host: `${name}:${world.port}` };
      expect(await world.ask("/thing", { headers })).toMatchObject({ status: 200 });
    },
  );

  it.each(["evil.example", "localhost", "127.0.0.1:1", "127.0.0.1.evil.example:80"])(
    "refuses the name %j",
    async (host) => {
      const world = await serve(ROUTES);
      const answer = await world.ask("/health", { headers: { host } });
      expect(answer.status).toBe(403);
      expect(bodyOf(answer)).toMatchObject({
        error: expect.stringMatching(/^Invalid Host header: ./),
      });
    },
  );

  it("knows the name that containers use only where callers need a token", async () => {
    const open = await serve(ROUTES);
    const name = "host.docker.internal";
    const host = `${name}:${open.port}`;
    expect(await open.ask("/thing", { headers: { host } })).toMatchObject({ status: 403 });
    const origin = `http://${host}`;
    expect(await open.ask("/thing", { headers: { origin } })).toMatchObject({ status: 403 });
    const strict = await serve(ROUTES, { token: TOKEN });
    const named = { host: `${name}:${strict.port}`, ...bearer(TOKEN) };
    expect(await strict.ask("/thing", { headers: named })).toMatchObject({ status: 200 });
  });

  it("refuses a request with two names", async () => {
    const world = await serve(ROUTES);
    const host = `Host: 127.0.0.1:${world.port}\r\n`;
    const said = await world.speak(
      `GET /health HTTP/1.1\r\n${host}Host: evil.example\r\nConnection: close\r\n\r\n`,
    );
    expect(said).toMatch(/^HTTP\/1.1 403 .*Invalid Host header/s);
  });

  it("refuses a request without a name", async () => {
    const world = await serve(ROUTES);
    const answer = await world.speak("GET /health HTTP/1.0\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain("Invalid Host header");
  });

  it("is not there where others can reach the server anyway", async () => {
    const world = await serve(ROUTES, { hostname: "0.0.0.0", token: TOKEN });
    const headers = { host: "any.example", ...bearer(TOKEN) };
    expect(await world.ask("/thing", { headers })).toMatchObject({ status: 200 });
    const page = { ...headers, origin: "https://any.example" };
    expect(await world.ask("/thing", { headers: page })).toMatchObject({ status: 200 });
    const other = { ...headers, origin: "https://other.example" };
    expect(await world.ask("/thing", { headers: other })).toMatchObject({ status: 403 });
  });
});

describe("the bearer gate", () => {
  const NO_TOKEN = 'Bearer realm="fermata"';
  const BAD_TOKEN = `${NO_TOKEN}, error="invalid_token"`;

  it.each<[string, Record<string, string>, string]>([
    ["nothing", {}, NO_TOKEN],
    ["another scheme", { authorization: `Basic ${TOKEN}` }, NO_TOKEN],
    ["an empty credential", { authorization: "Bearer " }, NO_TOKEN],
    ["no blank", { authorization: `Bearer${TOKEN}` }, NO_TOKEN],
    ["a wrong token", bearer("wrong"), BAD_TOKEN],
    ["a longer token", bearer(`${TOKEN}x`), BAD_TOKEN],
    ["a shorter token", bearer(TOKEN.slice(1)), BAD_TOKEN],
  ])("answers %s with the one refusal that there is", async (_what, headers, challenge) => {
    const world = await serve(ROUTES, { token: TOKEN });
    const { status, text, headers: sent } = await world.ask("/thing", { headers });
    expect({ status, text, challenge: sent["www-authenticate"] }).toEqual({
      status: 401,
      text: '{"error":"Unauthorized","code":"unauthorized"}',
      challenge,
    });
  });

  it.each([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER \t ${TOKEN}`])(
    "lets %j in",
    async (authorization) => {
      const world = await serve(ROUTES, { token: TOKEN });
      const { status } = await world.ask("/thing", { headers: { authorization } });
      expect(status).toBe(200);
    },
  );

  it("says who is there: the owner of the local tenant", async () => {
    const caller = { tenantId: "local", userId: null, role: "owner" };
    const guarded = await serve(ROUTES, { token: TOKEN });
    expect(bodyOf(await guarded.post("/mirror", {}, bearer(TOKEN)))).toMatchObject({ caller });
    const open = await serve(ROUTES);
    expect(bodyOf(await open.post("/mirror", {}))).toMatchObject({ caller, isLoopbackPeer: true });
  });

  it("tells strangers nothing of which paths there are", async () => {
    const world = await serve(ROUTES, { token: TOKEN });
    for (const path of ["/thing", "/nothing", "/%", "/strict"]) {
      expect(await world.ask(path, { method: "PUT" })).toMatchObject({ status: 401 });
    }
  });

  it("serves /health to strangers on this machine, unless a token is required", async () => {
    const open = await serve(ROUTES, { token: TOKEN });
    expect(await open.ask("/health")).toMatchObject({ status: 200 });
    const strict = await serve(ROUTES, { token: TOKEN, requireAuth: true });
    expect(await strict.ask("/health")).toMatchObject({ status: 401 });
    expect(await strict.ask("/health", { headers: bearer(TOKEN) })).toMatchObject({ status: 200 });
    const elsewhere = await serve(ROUTES, { token: TOKEN, hostname: "0.0.0.0" });
    expect(await elsewhere.ask("/health")).toMatchObject({ status: 401 });
  });
});

describe("the mutation gate", () => {
  it("keeps strict routes closed where nobody needs a token", async () => {
    const world = await serve(ROUTES);
    const answer = await world.post("/strict", {});
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="fermata"');
    expect(bodyOf(answer)).toMatchObject({ code: "token_required" });
  });

  it("opens them to whoever has one", async () => {
    const world = await serve(ROUTES, { token: TOKEN });
    expect(await world.post("/strict", {}, bearer(TOKEN))).toMatchObject({ status: 200 });
  });
});

/** Each row has the fault of its gate and of all gates behind it, so only the order can tell. */
describe("the first gate that refuses is the one that answers:", () => {
  const BAD_BODY = { method: "POST", body: "{" };
  const BAD_ALL = { origin: PAGE, host: "evil.example", "content-type": "application/json" };

  it.each<[string, Record<string, string>, string, number, string]>([
    ["CORS", BAD_ALL, "/%", 403, "cors_denied"],
    ["Host", { ...BAD_ALL, origin: "" }, "/%", 403, "invalid_host"],
    ["token", { ...BAD_ALL, origin: "", host: "" }, "/%", 401, "unauthorized"],
    [
      "rate",
      { ...BAD_ALL, origin: "", host: "", ...bearer(TOKEN) },
      "/%",
      429,
      "rate_limit_exceeded",
    ],
  ])("%s", async (_gate, given, path, status, code) => {
    const options = { token: TOKEN, rateLimit: { mutation: 1 } };
    const world = await serve(ROUTES, options);
    const host = given.host === "" ? `localhost:${world.port}` : (given.host ?? "");
    const { origin, ...rest } = given;
    const headers = { ...rest, host, ...(origin ? { origin } : {}) };
    await world.ask("/thing", { method: "POST", headers: bearer(TOKEN) });
    const answer = await world.ask(path, { ...BAD_BODY, headers });
    expect({ status: answer.status, code: bodyOf(answer).code }).toEqual({ status, code });
  });

  it.each([
    ["encoding of the path", "/%", "{", 400, "invalid_request"],
    ["path", "/nothing", "{", 404, "route_not_found"],
    ["method", "/thing", "{", 405, "method_not_allowed"],
    ["strictness", "/strict", "{", 401, "token_required"],
    ["body", "/mirror", "{", 400, "invalid_json"],
    ["client id", "/mirror", "{}", 400, "invalid_client_id"],
  ])("%s", async (_gate, path, body, status, code) => {
    const world = await serve(ROUTES);
    const headers = { "content-type": "application/json", "x-qwen-client-id": "not ok" };
    const answer = await world.ask(path, { method: "POST", headers, body });
    expect({ status: answer.status, code: bodyOf(answer).code }).toEqual({ status, code });
  });
});
