// A stranger writes a store with nothing but the published package: it is packed, unpacked into
// an empty project, and used from there by its name.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../src/core/json.ts";
import { runNode } from "./house/run.ts";
import { emptyProject, installPacked } from "./packed.fixture.ts";

const project = emptyProject();

/** The kit makes processes wait for the disk thousands of times. */
const KIT_MS_MAX = 300_000;

beforeAll(async () => {
  const installed = await installPacked(project);
  cpSync(join(installed, "examples/journal-store"), project, { recursive: true });
}, KIT_MS_MAX);

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("a store written by a stranger", () => {
  it(
    "passes the kit under node:test, imported by the package's name",
    async () => {
      const path = join(project, "journal-store.test.js");
      const { exitCode, stdout } = await runNode(["--test", "--test-reporter=tap", path]);
      const failed = stdout.split("\n").filter((line) => /^\s*not ok/.test(line));
      expect(failed).toEqual([]);
      expect(exitCode).toBe(0);
      expect(stdout.split("\n").filter((line) => /^\s+ok \d+/.test(line)).length).toBeGreaterThan(
        150,
      );
    },
    KIT_MS_MAX,
  );

  it("finds all that the guide tells it to import", async () => {
    const script = `
      import { pageOf, failpoint, StoreSurface, storeContract, textOption } from "fermata/store";
      import { storePromises, BROKEN_STORES } from "fermata/store/kit";
      import { folderHarness, volatileHarness } from "fermata/store/kit";
      import { crashPromises, playChild } from "fermata/store/kit/crash";
      const all = { pageOf, failpoint, StoreSurface, storeContract, textOption, storePromises,
        folderHarness, volatileHarness, crashPromises, playChild };
      console.log(Object.values(all).every((one) => typeof one === "function"));
      console.log(Object.keys(BROKEN_STORES).length > 30);
    `;
    writeFileSync(join(project, "imports.mjs"), script);
    const { stdout, stderr } = await runNode([join(project, "imports.mjs")]);
    expect({ stdout, stderr }).toEqual({ stdout: "true\ntrue\n", stderr: "" });
  });

  it(
    "P1: is served, keeps a conversation through a restart, and is no secret to commands",
    async () => {
      const first = await Served.start();
      const { sessionId } = await first.call("POST", "/session", { sessionScope: "thread" });
      expect(await first.prompt(String(sessionId), "hello")).toMatchObject({ state: "completed" });
      expect(await first.stop()).toBe(0);
      const second = await Served.start();
      const loaded = await second.call("POST", `/session/${sessionId}/load`, {});
      expect(JSON.stringify(loaded)).toContain("hello");
      expect(await second.prompt(String(sessionId), "again")).toMatchObject({ state: "completed" });
      expect(await second.stop()).toBe(0);
      for (const words of [
        ["backup", join(project, "copy")],
        ["tokens", "list"],
        ["tenants", "list"],
      ]) {
        const { exitCode, stderr } = await runNode([BIN, ...words, "--data", DATA]);
        expect(exitCode).toBe(1);
        expect(stderr).toContain('kept its sessions in the store "example-journal"');
      }
    },
    KIT_MS_MAX,
  );
});

const DATA = join(project, "data");
const BIN = join(project, "node_modules/fermata/bin/fermata.js");

/** The published command with the stranger's store, as a process. */
class Served {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start(): Promise<Served> {
    const flags = ["--port", "0", "--data", DATA, "--agent", "echo"];
    const args = [BIN, "serve", "--store", "./journal-store.js", ...flags];
    const env = { PATH: process.env.PATH, FERMATA_HOME: join(project, "home") };
    const child = spawn(process.execPath, args, { cwd: project, env });
    let said = "";
    const url = await new Promise<string>((resolve, reject) => {
      const hear = (text: string) => {
        said += text;
        const [, found] = /listening on (http:\S+)/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      };
      child.stdout.setEncoding("utf8").on("data", hear);
      child.stderr.setEncoding("utf8").on("data", hear);
      child.once("exit", () => reject(new Error(`it has ended: ${said}`)));
    });
    return new Served(child, url);
  }

  async call(method: string, path: string, body?: object): Promise<JsonObject> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${this.#url}${path}`, { method, headers, ...sent });
    const read: unknown = await answer.json().catch(() => ({}));
    return isObject(read) ? read : {};
  }

  /** The turn of a prompt, once it has its verdict. */
  async prompt(sessionId: string, text: string): Promise<JsonObject> {
    const path = `/session/${sessionId}`;
    const prompt = [{ type: "text", text }];
    const { promptId } = await this.call("POST", `${path}/prompt`, { prompt });
    const turn = () => this.call("GET", `${path}/turns/${promptId}`);
    await expect.poll(async () => (await turn()).state).toBe("completed");
    return turn();
  }

  async stop(): Promise<number | null> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await gone;
    return this.#child.exitCode;
  }
}
