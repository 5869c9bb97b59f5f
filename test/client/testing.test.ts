import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { TestServer } from "../../src/client-testing/server.ts";
import { ENTRY } from "../server/program.fixture.ts";

it("a real server in one line, which leaves nothing behind", { timeout: 60_000 }, async () => {
  let workspace = "";
  {
    await using server = await TestServer.start({ entry: ENTRY });
    workspace = server.workspace;
    const session = await server.client().sessions.create();
    const turn = await session.prompt("say one\nhang");
    for await (const part of turn) {
      if (part.type !== "text") continue;
      expect(part.text).toBe("one");
      break;
    }
    await server.kill();
    await server.restart();
    expect(await turn.verdict).toMatchObject({ kind: "error", code: "SERVER_RESTART" });
    expect(existsSync(workspace)).toBe(true);
  }
  expect(existsSync(workspace)).toBe(false);
});

it("says why there is no server, where there is none", { timeout: 60_000 }, async () => {
  const starting = TestServer.start({ entry: ENTRY, flags: ["--nonsense"] });
  await expect(starting).rejects.toThrow(/nonsense/);
});
