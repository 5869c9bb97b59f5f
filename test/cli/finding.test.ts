// How commands find their server, through the real command: run files, contexts, tokens, versions.

import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { built, type Shell, shell } from "./command.fixture.ts";

beforeAll(built);

const runFiles = ({ home }: Shell) => {
  const names = readdirSync(join(home, "run"));
  return names.map((name) => join(home, "run", name));
};

/** What a server on this port says of itself, in place of Fermata. */
async function answering(version: string): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ fermataVersion: version, workspaceCwd: "/" }));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a server in the background", () => {
  it("is found by its run file, stopped, and leaves nothing behind", async () => {
    const person = shell();
    const none = await person.run(["status"]);
    expect(none).toMatchObject({ exitCode: 3, stdout: "" });
    expect(none.stderr).toMatch(/no server runs here\. Start one: fermata serve -d/);
    const started = await person.run(["serve", "-d"]);
    expect(started).toMatchObject({ exitCode: 0, stderr: "fermata: stop it with: fermata stop\n" });
    expect(started.stdout).toMatch(/^fermata \S+ listening on http:\/\/127\.0\.0\.1:\d+ \(pid \d+/);
    const [file = ""] = runFiles(person);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const status = await person.run(["status", "--json"]);
    expect(JSON.parse(status.stdout)).toMatchObject({ by: "run file", agent: "echo", sessions: 0 });
    const again = await person.run(["restart"]);
    expect(again.stderr).toMatch(/listens on \S+ again/);
    expect((await person.run(["status"])).exitCode).toBe(0);
    expect((await person.run(["stop"])).stderr).toMatch(/stopped the server at .* \(pid \d+\)/);
    expect(runFiles(person)).toEqual([]);
    expect((await person.run(["status"])).exitCode).toBe(3);
  });

  it("lets its operator in without a token of theirs once it has tokens", async () => {
    const person = shell();
    await person.run(["tokens", "create", "--user", "ada", "--role", "owner"]);
    await person.run(["serve", "-d"]);
    const [file = ""] = runFiles(person);
    const { token, url } = JSON.parse(readFileSync(file, "utf8"));
    expect(token).toMatch(/^fermata-local-owner-of-one-run-[0-9a-f]{64}$/);
    expect((await person.run(["status"])).exitCode).toBe(0);
    const stranger = await person.run(["status", "--url", url]);
    expect(stranger).toMatchObject({ exitCode: 6, stdout: "" });
    chmodSync(file, 0o644);
    const open = await person.run(["status"]);
    expect(open).toMatchObject({ exitCode: 6 });
    expect(open.stderr).toMatch(/others can read it\. Close it: chmod 600/);
    chmodSync(file, 0o600);
    // P11: the token of this run is in no other file.
    await person.run(["stop"]);
    const kept = readdirSync(person.home, { recursive: true, withFileTypes: true });
    const files = kept.filter((entry) => entry.isFile());
    const texts = files.map(({ parentPath, name }) =>
      readFileSync(join(parentPath, name), "latin1"),
    );
    expect(texts.filter((content) => content.includes(token))).toEqual([]);
  });

  it("says why it did not start", async () => {
    const { exitCode, stderr } = await shell().run(["serve", "-d", "--agent", "nobody"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/did not start: .*There is no agent "nobody"/);
  });
});

describe("two commands that start a server at once", () => {
  it("come to the same one", async () => {
    const person = shell();
    const both = await Promise.all(["one", "two"].map((name) => person.run(["new", name])));
    expect(both.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toMatchObject([
      { exitCode: 0 },
      { exitCode: 0 },
    ]);
    expect(both.filter(({ stderr }) => /started a server/.test(stderr))).toHaveLength(1);
    expect(runFiles(person)).toHaveLength(1);
  });
});

describe("a server of another version", () => {
  it("is refused by every command that would speak to it, with what to type", async () => {
    const url = await answering("0.9.0");
    const { exitCode, stdout, stderr } = await shell().run(["ls", "--url", url]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: "" });
    expect(stderr).toMatch(/is fermata 0\.9\.0, and this is 0\.1\.0\. Use: npx fermata@0\.9\.0/);
  });
});

describe("a run file of a dead server", () => {
  it("is passed over, and taken away by the next server", async () => {
    const person = shell();
    await person.run(["serve", "-d"]);
    const [file = ""] = runFiles(person);
    process.kill(JSON.parse(readFileSync(file, "utf8")).process.pid, "SIGKILL");
    await expect.poll(async () => (await person.run(["status"])).exitCode).toBe(3);
    await person.run(["serve", "-d"]);
    expect(runFiles(person)).toHaveLength(1);
    expect((await person.run(["status"])).exitCode).toBe(0);
  });
});

describe("a context", () => {
  it("is made by login, chosen, listed without its token, and forgotten", async () => {
    const owner = shell();
    const made = await owner.run(["tokens", "create", "--user", "ada", "--role", "owner"]);
    await owner.run(["serve", "-d"]);
    const { url } = JSON.parse(readFileSync(runFiles(owner)[0] ?? "", "utf8"));
    const person = shell();
    const wrong = await person.run(["login", url, "--token-file", "-"], "fermata_wrong");
    expect(wrong.exitCode).toBe(6);
    const signIn = ["login", url, "--name", "work", "--token-file", "-"];
    expect(await person.run(signIn, made.stdout)).toMatchObject({ exitCode: 0 });
    const contexts = join(person.home, "contexts.json");
    expect(statSync(contexts).mode & 0o777).toBe(0o600);
    const listed = await person.run(["context", "ls"]);
    expect(listed.stdout).toMatch(/\* +work +http/);
    expect(listed.stdout).not.toContain(made.stdout.trim());
    const status = await person.run(["status", "--json"]);
    expect(JSON.parse(status.stdout)).toMatchObject({ url, by: "context" });
    expect((await person.run(["context", "use", "wrok"])).stderr).toMatch(/did you mean "work"/);
    chmodSync(contexts, 0o640);
    expect(await person.run(["status"])).toMatchObject({ exitCode: 6, stdout: "" });
    chmodSync(contexts, 0o600);
    await person.run(["context", "use", "local"]);
    expect((await person.run(["status"])).exitCode).toBe(3);
    expect((await person.run(["status", "-c", "work"])).exitCode).toBe(0);
    await person.run(["context", "rm", "work"]);
    expect(readFileSync(contexts, "utf8")).not.toContain(made.stdout.trim());
    writeFileSync(contexts, "{");
    expect((await person.run(["context", "ls"])).stderr).toMatch(/is damaged; mend it/);
  });

  it("is not made of a server of another version, or of one that is not there", async () => {
    const person = shell();
    expect(await person.run(["login", await answering("7.0.0")])).toMatchObject({ exitCode: 5 });
    expect(await person.run(["login", "http://127.0.0.1:1"])).toMatchObject({ exitCode: 3 });
    expect(await person.run(["login", "http://192.0.2.1"])).toMatchObject({ exitCode: 2 });
  });
});
