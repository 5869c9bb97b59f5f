import { describe, expect, it } from "vitest";
import { fail } from "../core/result.ts";
import type { McpServer } from "./mcp/config.ts";
import { namesOf, openBench, script } from "./tools.fixture.ts";
import { FOREVER } from "./workspace.fixture.ts";

/** A reference, as it stands in a file. */
function ref(name: string): string {
  return `\${${name}}`;
}

const WEB: McpServer = {
  name: "web",
  type: "http",
  url: "http://127.0.0.1:9/mcp",
  headers: { Authorization: `Bearer ${ref("WEB_TOKEN")}` },
};

describe("the tools of a server", () => {
  it("are those built in, without any configuration and without waiting", async () => {
    const { tools, say } = await openBench(() => ({}));
    expect(namesOf(await tools.list())).toEqual(["shell", "read_file", "write_file"]);
    expect(tools.servers).toEqual([]);
    expect(await say("write_file", "a.txt hello")).toBe("Wrote 5 bytes to a.txt.");
    expect(await say("read_file", "a.txt")).toBe("hello");
    expect(await say("shell", "cat a.txt")).toBe("hello");
  });

  it.each(["", "Shell", "shell ", "nobody:echo", ":", "toString"])(
    "do not include %j",
    async (name) => {
      const { tools, world } = await openBench(() => ({}));
      expect(await tools.callOf(name, "", world.place)).toEqual(
        fail("tool_unknown", { tool: name }),
      );
      const call = { name, title: "", kind: "other", input: {}, locations: [] } as const;
      expect(await tools.run(call, world.place, FOREVER)).toMatchObject({ isError: true });
    },
  );

  it("check the input of a call again when it is run", async () => {
    const { tools, world } = await openBench(() => ({}));
    const call = { name: "shell", title: "", kind: "execute", input: {}, locations: [] } as const;
    expect(await tools.run(call, world.place, FOREVER)).toMatchObject({ isError: true });
  });

  it("are told to agents as ACP has them, with the values that they need", async () => {
    const { tools, secrets } = await openBench((world) => ({
      servers: [script(world, "local", [], { KEY: ref("LOCAL_KEY") }), WEB],
      env: { LOCAL_KEY: "local-secret", WEB_TOKEN: "web-secret" },
    }));
    expect(tools.servers).toEqual([
      {
        name: "local",
        command: process.execPath,
        args: expect.any(Array),
        env: [
          { name: "JOURNAL", value: expect.any(String) },
          { name: "KEY", value: "local-secret" },
        ],
      },
      {
        type: "http",
        name: "web",
        url: WEB.url,
        headers: [{ name: "Authorization", value: "Bearer web-secret" }],
      },
    ]);
    expect(secrets).toEqual(["local-secret", "web-secret"]);
  });

  it("find the command of a server, as ACP wants its path", async () => {
    const sh: McpServer = { name: "sh", type: "stdio", command: "sh", args: [], env: {} };
    const none: McpServer = { ...sh, name: "none", command: "no-such-command" };
    const { tools } = await openBench(() => ({ servers: [sh, none] }));
    expect(tools.servers).toMatchObject([
      { command: expect.stringMatching(/^\/.*\/sh$/) },
      { command: "no-such-command" },
    ]);
  });

  it("leave out a server whose variables are missing, and say so once", async () => {
    const { tools, logged, world } = await openBench(() => ({ servers: [WEB] }));
    const reason = "the server's environment has no WEB_TOKEN";
    expect(tools.problems()).toEqual([{ server: "web", reason }]);
    expect(logged).toEqual([["mcp server unusable", { server: "web", reason }]]);
    expect(tools.servers).toEqual([]);
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(await tools.callOf("web:any", "", world.place)).toEqual(
      fail("tool_unavailable", { tool: "web:any", reason }),
    );
  });

  it("P11: leave out a server whose secrets nobody can watch for", async () => {
    const { tools } = await openBench(() => ({
      servers: [WEB],
      env: { WEB_TOKEN: "web-secret" },
      secret: () => fail("invalid_store_input", {}),
    }));
    expect(tools.servers).toEqual([]);
    expect(tools.problems()).toMatchObject([{ server: "web" }]);
  });
});
