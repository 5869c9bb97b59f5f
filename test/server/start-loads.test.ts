// What a server loads at its start: not what only some servers ever use.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

/** From the sources, because a bundle does not say which packages are in it. */
const ENTRY = fileURLToPath(new URL("entry.fixture.ts", import.meta.url));

/** Writes down each module that is loaded, in every thread. */
const HOOK = `
  import { appendFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED, url + "\\n");
      return next(url, context);
    },
  });`;

/** For skills, exports, JWTs and MCP servers. */
const RARE_PACKAGES = ["yaml", "marked", "jose", "@modelcontextprotocol", "ajv"];

/** For files that an operator may have written, another store, and a second thread. */
const RARE_MODULES = [
  "agent/profile/read.ts",
  "session/meter/price-file.ts",
  "store/memory/store.ts",
  "store/sqlite/reader.ts",
];

/** What there is before the listener must not need what there is behind it. */
const BEHIND_THE_LISTENER = ["session/host.ts", "session/index.ts", "agent/bridge/session.ts"];

it("P10: a start loads nothing rare, and listens before it has loaded the rest", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-loads-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [workspace, hook, list] = ["workspace", "hook.mjs", "loaded"].map((n) => join(folder, n));
  if (workspace === undefined || hook === undefined || list === undefined) return;
  mkdirSync(workspace);
  writeFileSync(hook, HOOK);
  const place = ["--port", "0", "--data", join(folder, "data"), "--workspace", workspace];
  const env = { PATH: process.env.PATH, FERMATA_HOME: join(folder, "home"), LOADED: list };
  const args = ["--import", hook, ENTRY, "serve", ...place];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [said] = await Promise.race([once(child.stdout, "data"), exited]);
  child.kill("SIGTERM");
  await exited;
  expect(String(said)).toContain("listening on");
  const loaded = readFileSync(list, "utf8").trim().split("\n");
  const has = (part: string) => loaded.some((url) => url.includes(part));
  expect(has("/src/store/sqlite/writer.ts")).toBe(true);
  expect(RARE_PACKAGES.filter((name) => has(`/node_modules/${name}/`))).toEqual([]);
  expect(RARE_MODULES.filter((path) => has(`/src/${path}`))).toEqual([]);
  const at = (path: string) => loaded.findIndex((url) => url.endsWith(`/src/${path}`));
  const assembled = at("cli/serve/assemble.ts");
  expect(at("server/http/early-listener.ts")).toBeLessThan(assembled);
  for (const path of BEHIND_THE_LISTENER) expect(at(path)).toBeGreaterThan(assembled);
}, 120_000);
