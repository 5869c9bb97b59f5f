// Two servers on one data directory, as people start them: by mistake, and on purpose.

import { spawn } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ROOT } from "../house/files.ts";
import { runNode } from "../house/run.ts";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess, sharedServer } from "./serve.fixture.ts";

const first = sharedServer({ flags: ["--agent", "echo"] });

function second(...flags: readonly string[]) {
  const command = [ENTRY, "serve", "--port", "0", "--data", first().data, ...flags];
  return runNode(command, { FERMATA_HOME: first().home });
}

describe("a second server on the same data", () => {
  it("is refused, and says by whom, where, and what to do", async () => {
    const { pid, url, data } = first();
    const { exitCode, stdout, stderr } = await second();
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(
      `--data: process ${pid} serves ${data} already on ${url}; use that server, or stop it ` +
        `(kill ${pid}), or choose another directory with --data DIR, ` +
        "or start both with --shared-data",
    );
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it("is refused too if only the second one would share", async () => {
    const { exitCode, stderr } = await second("--shared-data");
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`already on ${first().url} without --shared-data;`);
  });

  it("is no matter for a server that keeps nothing, nor for the other commands", async () => {
    const { data, home } = first();
    const run = (...args: string[]) => runNode([ENTRY, ...args], { FERMATA_HOME: home });
    expect(await run("tokens", "list", "--data", data)).toMatchObject({ exitCode: 0 });
    const copy = join(first().folder, "copy");
    expect(await run("backup", copy, "--data", data)).toMatchObject({ exitCode: 0 });
    const memory = await ServeProcess.start({ flags: ["--store", "memory", "--data", data] });
    await memory.end();
  });
});

describe("a restore", () => {
  it("beside a server is refused, also where its sessions were moved away", async () => {
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    const { pid, url, data, home } = server;
    const run = (...args: string[]) => runNode([ENTRY, ...args], { FERMATA_HOME: home });
    const copy = join(server.folder, "copy");
    expect(await run("backup", copy, "--data", data)).toMatchObject({ exitCode: 0 });
    renameSync(join(data, "sessions"), join(data, "away"));
    const refused = await run("restore", copy, "--data", data);
    expect(refused).toEqual({
      ...{ exitCode: 1, stdout: "" },
      stderr:
        `fermata: Nothing was restored: process ${pid} serves ${data} on ${url}; stop it ` +
        `(kill ${pid}), and restore then, or choose another directory with --data DIR.\n`,
    });
    await server.kill("SIGTERM");
    expect(await run("restore", copy, "--data", data)).toMatchObject({ exitCode: 0 });
    await server.restart();
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

describe("the next server", () => {
  it("P5: starts at once after a kill -9, and after a server that was stopped", async () => {
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      await server.kill(signal);
      await server.restart();
      expect((await fetch(`${server.url}/health`)).status).toBe(200);
    }
  });

  it("is one of two that start at the same moment, and the other is refused", async () => {
    const home = mkdtempSync(join(tmpdir(), "fermata-twins-"));
    const twins = [twin(home), twin(home)];
    onTestFinished(async () => {
      for (const { child } of twins) child.kill("SIGTERM");
      await Promise.all(twins.map(({ gone }) => gone));
      rmSync(home, { recursive: true });
    });
    const [one, other] = await Promise.all(twins.map(({ fate }) => fate));
    expect([one, other].toSorted()).toEqual(["refused", "serving"]);
  });

  it("shares the data if all say so", async () => {
    const flags = ["--shared-data"];
    const one = await ServeProcess.start({ flags });
    onTestFinished(() => one.end());
    const other = await ServeProcess.start({ flags: [...flags, "--data", one.data] });
    onTestFinished(() => other.end());
    const command = [ENTRY, "serve", "--port", "0", "--data", one.data];
    const alone = await runNode(command, { FERMATA_HOME: one.home });
    expect(alone).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(other.url) });
  });
});

function twin(home: string) {
  const env = { ...process.env, FERMATA_HOME: home };
  const child = spawn(process.execPath, [ENTRY, "serve", "--port", "0"], { cwd: ROOT, env });
  const { promise: fate, resolve } = Promise.withResolvers<string>();
  const { promise: gone, resolve: isGone } = Promise.withResolvers<void>();
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("listening on")) resolve("serving");
    });
  }
  child.once("close", () => {
    resolve(said.includes("start both with --shared-data") ? "refused" : said);
    isGone();
  });
  return { child, fate, gone };
}
