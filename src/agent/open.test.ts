import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { DONE } from "../core/result.ts";
import { openAgents } from "./open.ts";

const SERVER = fileURLToPath(new URL("server.fixture.ts", import.meta.url));

it("P5: a server ends the agents of the one before it, which was killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fermata-agents-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = spawn(process.execPath, [SERVER, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  const setting = {
    folder,
    profiles: new Map(),
    env: process.env,
    memoryBytesMax: null,
    watch: { fault: () => {}, secret: () => DONE, secretGone: () => {} },
  };
  const beside = await openAgents(setting);
  expect(beside.orphans).toEqual({ ended: 0, cleared: 0, notes: [] });
  await beside.agents.shutdown();
  server.kill("SIGKILL");
  await once(server, "exit");
  const after = await openAgents(setting);
  expect(after.orphans).toEqual({ ended: 1, cleared: 1, notes: [] });
  expect(readdirSync(join(folder, "running-agents"))).toEqual([]);
  await after.agents.shutdown();
});
