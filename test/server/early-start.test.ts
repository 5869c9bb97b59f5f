// A real server that is asked while it starts. Its store is one that holds the start until the
// test lets it go on, or that fails.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENTRY } from "./program.fixture.ts";

const MEMORY = new URL("../../src/store/memory/store.ts", import.meta.url).href;

/** What `go` has in it decides how the store starts; until it is there the store waits. */
const HELD_STORE = (go: string) => `
  import { existsSync, readFileSync } from "node:fs";
  import { setTimeout as pause } from "node:timers/promises";
  import { memoryStore } from ${JSON.stringify(MEMORY)};
  export default () => {
    const store = memoryStore();
    const contract = { ...store.contract, storeId: "held" };
    const activate = async () => {
      while (!existsSync(${JSON.stringify(go)})) await pause(5);
      if (readFileSync(${JSON.stringify(go)}, "utf8") === "fail") throw new Error("no disk");
      return store.activate();
    };
    const held = { contract, activate };
    return new Proxy(store, {
      get: (from, name) => {
        const value = held[name] ?? from[name];
        return typeof value === "function" ? value.bind(from) : value;
      },
    });
  };`;

/** Starts a server that waits for its store, once it listens. */
async function starting() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-early-")));
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const go = join(folder, "go");
  const storeFile = join(folder, "store.js");
  writeFileSync(storeFile, HELD_STORE(go));
  const port = await freePort();
  const place = ["--port", `${port}`, "--data", join(folder, "data"), "--workspace", workspace];
  const env = { PATH: process.env.PATH, FERMATA_HOME: join(folder, "home") };
  const args = [ENTRY, "serve", ...place, "--agent", "echo", "--store", storeFile];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const exited = once(child, "exit");
  onTestFinished(async () => {
    writeFileSync(go, "go on");
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const health = () =>
    fetch(`${url}/health`).then(
      (answer) => answer.text(),
      () => said,
    );
  await expect.poll(health).toBe('{"status":"starting"}');
  const ask = () => fetch(`${url}/capabilities`);
  const speak = () => said;
  return { health, ask, child, exited, said: speak, go: (how: string) => writeFileSync(go, how) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("a real server that is asked while it starts", { timeout: 120_000 }, () => {
  it("says so, keeps what it is asked for, and does it when it can", async () => {
    const { health, ask, said, go } = await starting();
    const asked = ask();
    expect(await health()).toBe('{"status":"starting"}');
    expect(said()).not.toContain("listening on");
    go("go on");
    expect((await asked).status).toBe(200);
    await expect.poll(said).toContain("listening on");
    expect(await health()).toBe('{"status":"ok"}');
  });

  it("ends with its reason if it cannot, and has promised nothing", async () => {
    const { ask, exited, said, go } = await starting();
    const asked = ask();
    go("fail");
    const answer = await asked.catch(() => null);
    expect([503, undefined]).toContain(answer?.status);
    const [exitCode] = await exited;
    expect(exitCode).toBe(2);
    expect(said()).toContain("no disk");
    expect(said()).not.toContain("listening on");
  });

  it("is stopped by a signal all the same", async () => {
    const { child, exited, said, go } = await starting();
    child.kill("SIGTERM");
    await expect.poll(said).toContain("stopped before the server was up");
    go("go on");
    expect((await exited)[0]).toBe(130);
  });
});
