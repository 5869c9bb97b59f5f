// The bundled extensions in the sessions of a real server: no mode of a session lets a guarded path
// be written, and an agent hears of its plan after a restart.

import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "../server/serve.fixture.ts";
import { Talk } from "../server/talk.fixture.ts";

/** A server with this in its file of extensions. */
async function serverWith(configured: object): Promise<ServeProcess> {
  const server = await ServeProcess.start({
    prepare: ({ home, workspace }) => {
      writeFileSync(join(home, "extensions.json"), JSON.stringify(configured));
      writeFileSync(join(workspace, ".env"), "KEY=1");
      symlinkSync(".env", join(workspace, "harmless"));
    },
  });
  onTestFinished(() => server.end());
  return server;
}

const GUARD = { "guard-paths": { critical: true, config: { deny: [".env"], ask: ["lock"] } } };
const REFUSED = "an extension of the session does not allow it";

describe("guard-paths", { timeout: 120_000 }, () => {
  it("denies writes that a session would let through, and says so in the log", async () => {
    const server = await serverWith(GUARD);
    const { workspace } = server;
    const talk = await Talk.begun(server, { mode: "yolo" });
    for (const name of [".env", "harmless", "sub/../.env"]) {
      const said = await talk.prompt("turn_complete", `write ${join(workspace, name)} changed`);
      expect(said).toContain(REFUSED);
      expect(said).toContain('"guard":{"verdict":"deny","extension":"guard-paths"');
    }
    expect(readFileSync(join(workspace, ".env"), "utf8")).toBe("KEY=1");
    await talk.prompt("turn_complete", `write ${join(workspace, "free")} text`);
    expect(existsSync(join(workspace, "free"))).toBe(true);
  });

  it("has people asked about a command that names one, in every mode", async () => {
    const server = await serverWith(GUARD);
    const talk = await Talk.begun(server, { mode: "yolo" });
    expect(await talk.prompt("turn_complete", "run echo free")).toContain("free");
    const said = await talk.answered("reject_once", "run tee .env");
    expect(said).toContain("a person has refused it");
    const file = join(server.workspace, "lock");
    await talk.answered("allow_once", `write ${file} text`);
    expect(readFileSync(file, "utf8")).toContain("text");
  });
});

describe("todo", { timeout: 120_000 }, () => {
  it("tells the agent of its plan in the first turn after a restart, and not again", async () => {
    const server = await serverWith({ todo: {} });
    const talk = await Talk.begun(server);
    await talk.prompt("turn_complete", "plan read | write");
    await server.kill("SIGTERM");
    await server.restart();
    const told = '"told":[{"extension":"todo"';
    expect(await talk.prompt("turn_complete", "say hello")).toContain(told);
    expect(await talk.prompt("turn_complete", "say again")).not.toContain(told);
  });
});
