import { describe, expect, it } from "vitest";
import { namesOf, openBench } from "../tools.fixture.ts";
import type { McpServer } from "./config.ts";
import { endlessServer, httpServer, silentServer } from "./http-server.fixture.ts";
import type { McpTimeouts } from "./link.ts";

function bench(url: string, type: "http" | "sse" = "http", timeouts: Partial<McpTimeouts> = {}) {
  const headers = { Authorization: "Bearer web-secret-1" };
  const server: McpServer = { name: "web", type, url, headers };
  return openBench(() => ({ servers: [server], timeouts }));
}

describe.each(["http", "sse"] as const)("an MCP server over %s", (type) => {
  it("is called with the headers that it wants", async () => {
    const web = await httpServer(type);
    const { tools, say } = await bench(web.url, type);
    expect(namesOf(await tools.list())).toContain("web:shout");
    expect(await say("web:shout", "hello")).toBe("HELLO");
    const said = web.headers.map(({ authorization }) => authorization);
    expect(new Set(said)).toEqual(new Set(["Bearer web-secret-1"]));
  });

  it("that is not there has no tools, and a reason", async () => {
    const { tools } = await bench("http://127.0.0.1:9/mcp", type);
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(tools.problems()).toMatchObject([{ server: "web", reason: expect.stringMatching(/./) }]);
  });

  it("that never answers is given up", async () => {
    const { tools } = await bench(`${await silentServer()}/mcp`, type, { connectMs: 300 });
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(tools.problems()).toMatchObject([{ reason: expect.stringMatching(/time|within/) }]);
  });
});

describe("an MCP server over http", () => {
  it("that has forgotten its session is connected anew by the next call", async () => {
    const web = await httpServer("http");
    const { say } = await bench(web.url);
    expect(await say("web:shout", "a")).toBe("A");
    web.forget();
    expect(await say("web:shout", "b")).toMatch(/^error: /);
    expect(await say("web:shout", "c")).toBe("C");
  });

  it("P10: whose answer has no end is given up", async () => {
    const { tools } = await bench(await endlessServer());
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(tools.problems()).toMatchObject([{ reason: expect.stringMatching(/too large/) }]);
  });

  it("is told when the tools are closed", async () => {
    const web = await httpServer("http");
    const { tools, say } = await bench(web.url);
    await say("web:shout", "a");
    await tools.close();
    expect(web.methods).toContain("DELETE");
  });
});
