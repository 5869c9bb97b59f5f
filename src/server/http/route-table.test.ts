import { describe, expect, it } from "vitest";
import { RouteTable, readTarget } from "./route.ts";
import { mirror } from "./server.fixture.ts";

const table = new RouteTable([
  mirror({ method: "GET", path: "/session/:id/turns/:promptId" }),
  mirror({ method: "GET", path: "/session/:id/turns/current" }),
  mirror({ method: "POST", path: "/session/:id/prompt" }),
  mirror({ method: "DELETE", path: "/session/:id" }),
  mirror({ method: "PATCH", path: "/session/:id" }),
  mirror({ method: "DELETE", path: "/session/latest" }),
  mirror({ method: "GET", path: "/workspace/:cwd/sessions" }),
]);

function find(method: string, url: string) {
  const { segments } = readTarget(url);
  const match = segments === null ? null : table.match(method, segments);
  return match?.kind === "found" ? { path: match.route.path, ...match.params } : match;
}

const UUID = "6F0C1D2E-1111-4222-8333-ABCDEFABCDEF";

describe("the table of routes", () => {
  it("finds a route and the parameters of its path", () => {
    expect(find("POST", "/session/s-1/prompt")).toEqual({ path: "/session/:id/prompt", id: "s-1" });
  });

  it("prefers a plain word to a parameter, whatever comes first in the table", () => {
    expect(find("GET", "/session/s/turns/current")).toMatchObject({
      path: "/session/:id/turns/current",
    });
    expect(find("GET", "/session/s/turns/p")).toMatchObject({ promptId: "p" });
  });

  it("goes back to the parameter where the plain word has no such method", () => {
    expect(find("PATCH", "/session/latest")).toMatchObject({ id: "latest" });
    expect(find("DELETE", "/session/latest")).toMatchObject({ path: "/session/latest" });
  });

  it("answers HEAD by the route for GET", () => {
    expect(find("HEAD", "/session/s/turns/current")).toMatchObject({
      path: "/session/:id/turns/current",
    });
  });

  it("keeps an encoded slash inside its segment", () => {
    expect(find("GET", "/workspace/%2Fhome%2Fme/sessions")).toMatchObject({ cwd: "/home/me" });
  });

  it("writes a session id that is a UUID in lower case, and no other parameter", () => {
    expect(find("GET", `/session/${UUID}/turns/${UUID}`)).toMatchObject({
      id: UUID.toLowerCase(),
      promptId: UUID,
    });
    expect(find("DELETE", "/session/Some-Name")).toMatchObject({ id: "Some-Name" });
  });

  it("says which methods a known path has", () => {
    expect(find("PUT", "/session/s")).toEqual({
      kind: "other_method",
      allow: "DELETE, PATCH, OPTIONS",
    });
    expect(find("POST", "/session/s/turns/current")).toMatchObject({ allow: "GET, HEAD, OPTIONS" });
  });

  it.each(["/", "/session", "/session//prompt", "/session/s/prompt/x", "/../session/s", "*"])(
    "knows nothing at %s",
    (url) => {
      expect(find("POST", url)).toEqual({ kind: "unknown" });
    },
  );

  it("does not mind one slash at the end, a query, or a whole address", () => {
    for (const url of [
      "/session/s/prompt/",
      "/session/s/prompt?a=1",
      "http://x/session/s/prompt",
    ]) {
      expect(find("POST", url)).toMatchObject({ id: "s" });
    }
  });

  it("cannot be made with two rows for the same requests", () => {
    const rows = [mirror({ path: "/a/:x" }), mirror({ path: "/a/:y" })];
    expect(() => new RouteTable(rows)).toThrow("two routes for POST /a/:y");
  });

  it("knows whether a route is there, by whatever names", () => {
    expect(table.has("GET", "/session/:sessionId/turns/:x")).toBe(true);
    expect(table.has("GET", "/session/:id")).toBe(false);
    expect(table.has("GET", "/session/:id/turns/:x/more")).toBe(false);
  });
});

describe("the target of a request", () => {
  it("is not decoded where its encoding is broken", () => {
    expect(readTarget("/session/%E0%A4%A/prompt").segments).toBeNull();
    expect(readTarget("/session/%/prompt").segments).toBeNull();
  });

  it("has its query beside it", () => {
    expect([...readTarget("/a?x=1&y=%20&x=2").query]).toEqual([
      ["x", "1"],
      ["y", " "],
      ["x", "2"],
    ]);
  });
});
