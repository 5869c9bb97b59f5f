import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { startServer } from "../commands/serve.ts";
import { readServeOptions } from "./read-options.ts";

/** A folder of its own, with a home in it, and how to start a server there. */
function world() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-own-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (...names: readonly string[]) => join(folder, ...names);
  mkdirSync(at("home", "inside"), { recursive: true });
  mkdirSync(at("work"));
  const env = { FERMATA_HOME: at("home") };
  const start = async (...args: readonly string[]) => {
    const options = await value(
      readServeOptions(["--port", "0", "--data", at("data"), ...args], env),
    );
    return startServer(options, env, "0");
  };
  return { at, start };
}

function refusalOf(path: string, reason: RegExp) {
  const details = { path, reason: expect.stringMatching(reason) };
  return { ok: false, refusal: { code: "invalid_server_config", details } };
}

describe("the workspaces that a server is started with", () => {
  it("are not its home or in it, in which agents could do nothing", async () => {
    const { at, start } = world();
    symlinkSync(at("home", "inside"), at("link"));
    for (const path of [at("home"), at("home", "inside"), at("link")]) {
      const started = await start("--workspace", at("work"), "--workspace", path);
      expect(started).toMatchObject(refusalOf("--workspace", /cannot work in the data directory/));
    }
    // It was refused before anything was touched.
    expect(existsSync(at("data"))).toBe(false);
  });

  it("are added below directories that are there", async () => {
    const { at, start } = world();
    const started = await start("--workspace", at("work"), "--workspace-root", at("none"));
    expect(started).toMatchObject(refusalOf("--workspace-root", /there is no directory/));
  });
});

describe("the folders of keys and homes that a server is started with", () => {
  it("are closed to agents: no workspace is in them", async () => {
    const { at, start } = world();
    for (const option of ["--secrets-dir", "--agent-homes"]) {
      const started = await start("--workspace", at("work"), option, at("work"));
      expect(started).toMatchObject(refusalOf("--workspace", /another folder of the server/));
    }
  });

  it("are there, or can be made", async () => {
    const { at, start } = world();
    const without = await start("--workspace", at("work"), "--secrets-dir", at("none"));
    expect(without).toMatchObject(refusalOf("--secrets-dir", /there is no directory/));
    const file = at("a-file");
    writeFileSync(file, "");
    const inFile = await start("--workspace", at("work"), "--agent-homes", `${file}/homes`);
    expect(inFile).toMatchObject(refusalOf("--agent-homes", /ENOTDIR/));
    expect(existsSync(at("data"))).toBe(false);
  });
});

describe("the web client that a server is started with", () => {
  it("is a folder with an index.html, and has nothing of the server in it", async () => {
    const { at, start } = world();
    const refused = async (path: string, reason: RegExp) => {
      const started = await start("--workspace", at("work"), "--web", path);
      expect(started).toMatchObject(refusalOf("--web", reason));
    };
    await refused(at("none"), /there is no directory/);
    await refused(at("work"), /has no readable index\.html; name the folder/);
    writeFileSync(at("index.html"), "");
    writeFileSync(at("home", "inside", "index.html"), "");
    symlinkSync(at("home", "inside"), at("link"));
    for (const path of [at(), at("home"), at("home", "inside"), at("link")]) {
      await refused(path, /has files of the server in it/);
    }
    expect(existsSync(at("data"))).toBe(false);
  });

  it("is closed to agents: no workspace is in it", async () => {
    const { at, start } = world();
    writeFileSync(at("work", "index.html"), "");
    const started = await start("--workspace", at("work"), "--web", at("work"));
    expect(started).toMatchObject(refusalOf("--workspace", /another folder of the server/));
  });
});
