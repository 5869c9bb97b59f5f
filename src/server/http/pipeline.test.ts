import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { type Answer, file, json, jsonWith, refused } from "./answer.ts";
import { route } from "./route.ts";
import { answering, bodyOf, closeServers, mirror, serve, UNDESCRIBED } from "./server.fixture.ts";

afterEach(closeServers);

describe("a request", () => {
  it("comes to its route with what it brought", async () => {
    const world = await serve([mirror({ path: "/session/:id/prompt" })]);
    const headers = { "x-qwen-client-id": "tab:1" };
    const answer = await world.post("/session/s%201/prompt?x=1", { a: 1 }, headers);
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({
      params: { id: "s 1" },
      search: "x=1",
      body: { a: 1 },
      clientId: "tab:1",
    });
  });

  it("for a path that is not there is told so in JSON", async () => {
    const world = await serve([]);
    const answer = await world.ask("/nothing");
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(bodyOf(answer)).toEqual({
      error:
        "There is nothing at this path. All routes are in docs/protocol.md; " +
        "GET /capabilities says what this server offers.",
      code: "route_not_found",
      advice: expect.any(String),
    });
  });

  it.each([
    ["POST", "/sessions", "POST /session"],
    ["GET", "/Session", "POST /session"],
    ["POST", "/session/6f0c/promt", "POST /session/:id/prompt"],
    ["PATCH", "/session/6f0c/meta-dta", "PATCH /session/:id/metadata"],
    ["GET", "/halth", "GET /health"],
    ["GET", "/session/6f0c/secrets", undefined],
    ["POST", `/session/6f0c/${"prompt".repeat(1_000)}`, undefined],
  ])("for a path that is near another one is told which: %s %s", async (method, path, meant) => {
    const world = await serve([
      mirror({ path: "/session" }),
      mirror({ path: "/session/:id/prompt" }),
      mirror({ path: "/session/:id/metadata", method: "PATCH" }),
    ]);
    const answer = bodyOf(await world.ask(path, { method }));
    expect(answer.didYouMean).toBe(meant);
    expect(String(answer.error).includes(`Did you mean ${meant}? `)).toBe(meant !== undefined);
  });

  it("with another method is told which ones there are", async () => {
    const world = await serve([]);
    const answer = await world.ask("/health", { method: "DELETE" });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("GET, HEAD, OPTIONS");
    expect(bodyOf(answer)).toMatchObject({
      error: "DELETE is not possible here; these are: GET, HEAD, OPTIONS.",
      code: "method_not_allowed",
    });
  });

  it("may ask what is possible", async () => {
    const world = await serve([]);
    const { status, headers, text } = await world.ask("/health", { method: "OPTIONS" });
    expect({ status, allow: headers.allow, text }).toEqual({
      status: 204,
      allow: "GET, HEAD, OPTIONS",
      text: "",
    });
  });

  it("with a broken encoding in its path is refused", async () => {
    const world = await serve([]);
    const answer = await world.ask("/session/%E0%A4%A");
    expect(answer.status).toBe(400);
    expect(bodyOf(answer)).toMatchObject({
      error: "Malformed URL encoding",
      code: "invalid_request",
    });
  });

  it("for the head only gets the head", async () => {
    let pieceCount = 0;
    async function* pieces() {
      pieceCount += 1;
      yield "x";
    }
    const world = await serve([
      answering("/json", async () => json(200, { a: 1 })),
      answering("/file", async () => file("text/plain", pieces())),
    ]);
    for (const path of ["/health", "/json", "/file"]) {
      const { status, text } = await world.ask(path, { method: "HEAD" });
      expect({ status, text }).toEqual({ status: 200, text: "" });
    }
    expect(pieceCount).toBe(0);
  });
});

describe("the client id of a request", () => {
  const routes = [
    mirror({ path: "/registered", clientId: "registered" }),
    mirror({ path: "/shape", clientId: "shape" }),
    mirror({ path: "/ignored", clientId: "ignored" }),
  ];
  const BAD = { "x-qwen-client-id": "two words" };

  it.each(["/registered", "/shape"])("is refused by %s if it is malformed", async (path) => {
    const world = await serve(routes);
    for (const id of ["two words", "x".repeat(129), "ä"]) {
      const headers = { "x-qwen-client-id": Buffer.from(id).toString("latin1") };
      const answer = await world.post(path, {}, headers);
      expect(answer.status).toBe(400);
      expect(Object.keys(bodyOf(answer))).toEqual(["error", "code"]);
      expect(bodyOf(answer).code).toBe("invalid_client_id");
    }
  });

  it("counts as none where it is not needed", async () => {
    const world = await serve(routes);
    expect(bodyOf(await world.post("/ignored", {}, BAD))).toMatchObject({ clientId: null });
  });

  it("that is empty is an anonymous client's", async () => {
    const world = await serve(routes);
    const answer = await world.post("/registered", {}, { "x-qwen-client-id": "" });
    expect(bodyOf(answer)).toMatchObject({ clientId: null });
  });
});

describe("the fields of a body that a route does not know", () => {
  const fields = z.object({ budget: z.any() });
  const row = { method: "POST", path: "/set", about: UNDESCRIBED, needs: null, fields } as const;
  const setting = (answer: Answer) => route({ ...row, method: "POST", handle: async () => answer });

  it.each<[Answer, object]>([
    [json(200, {}), { ignored: ["colour"] }],
    [json(201, { a: 1 }), { a: 1, ignored: ["colour"] }],
    [jsonWith(200, { a: 1 }, { b: ["[", "2", "]"] }), { a: 1, b: [2], ignored: ["colour"] }],
    [json(409, { code: "x" }), { code: "x" }],
  ])("are named in the answer %j, unless it is a refusal", async (answer, body) => {
    const world = await serve([setting(answer)]);
    expect(bodyOf(await world.post("/set", { colour: 1 }))).toEqual(body);
  });
});

describe("a refusal", () => {
  it.each<[string, Answer, string | undefined]>([
    [
      "names its time if it knows one",
      refused(refusal("agent_breaker_open", { retryMs: 61_001 })),
      "62",
    ],
    ["else five seconds, if time helps", refused(refusal("session_busy")), "5"],
    ["and none if nothing does", refused(refusal("invalid_prompt")), undefined],
  ])("%s", async (_what, answer, retryAfter) => {
    const world = await serve([answering("/no", async () => answer)]);
    const { headers } = await world.ask("/no");
    expect(headers["retry-after"]).toBe(retryAfter);
  });

  it("has the status of the table, its sentence, its code and the facts", async () => {
    const why = refusal("prompt_queue_full", { sessionId: "s", limit: 5, pendingCount: 5 });
    const world = await serve([answering("/no", async () => refused(why))]);
    const answer = await world.ask("/no");
    expect(answer.status).toBe(503);
    expect(bodyOf(answer)).toEqual({
      error: "5 of at most 5 prompts have no verdict yet; wait for one.",
      code: "prompt_queue_full",
      sessionId: "s",
      limit: 5,
      pendingCount: 5,
    });
  });
});

describe("an error that nobody foresaw", () => {
  const fails = answering("/fails", () => {
    throw new Error("the password is swordfish");
  });

  it("is in the log, and not in the answer", async () => {
    const world = await serve([fails], { token: "the-token" });
    const headers = { authorization: "Bearer the-token" };
    const answer = await world.ask("/fails?key=query-secret", { headers });
    expect(answer.status).toBe(500);
    expect(bodyOf(answer)).toEqual({ error: "Internal server error", code: "internal_error" });
    expect(world.logged.join()).toContain("swordfish");
    expect(world.logged.join()).not.toMatch(/the-token|query-secret/);
  });

  it("harms no other request", async () => {
    const world = await serve([fails]);
    await world.ask("/fails");
    expect(await world.ask("/health")).toMatchObject({ status: 200 });
  });
});

describe("a client that leaves", () => {
  it("aborts the signal of its request", async () => {
    const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();
    const { promise: aborted, resolve: wasAborted } = Promise.withResolvers<void>();
    const waiting = route({
      method: "GET",
      path: "/wait",
      about: UNDESCRIBED,
      gate: "caller",
      needs: null,
      clientId: "ignored",
      body: "json",
      async handle({ signal }) {
        wasAsked();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        wasAborted();
        return json(200, {});
      },
    });
    const world = await serve([waiting]);
    const leave = new AbortController();
    const answer = fetch(`${world.url}/wait`, { signal: leave.signal });
    await asked;
    leave.abort();
    await expect(answer).rejects.toThrow();
    await aborted;
  });
});
