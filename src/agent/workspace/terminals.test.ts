import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { TERMINAL_COMMAND_BYTES_MAX, TERMINALS_OPEN_MAX } from "../../core/limits.ts";
import { Bench, withTerminals } from "./terminals.fixture.ts";
import { codeOf, whyNot } from "./world.fixture.ts";

const ENDED_WELL = { exitCode: 0, signal: null };

describe("a terminal", () => {
  it("runs a command, and tells its output and how it ended", () =>
    withTerminals(async (bench) => {
      const id = await bench.start("sh", { args: ["-c", "echo out; echo err >&2; exit 3"] });
      expect(await bench.exit(id)).toEqual({ exitCode: 3, signal: null });
      const { output, truncated, exitStatus } = bench.output(id);
      expect(output.split("\n").sort()).toEqual(["", "err", "out"]);
      expect([truncated, exitStatus]).toEqual([false, { exitCode: 3, signal: null }]);
    }));

  it("tells no exit while the command runs", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("echo ready; exec sleep 60");
      await bench.said(id, "ready");
      expect(bench.output(id)).toEqual({ output: "ready\n", truncated: false });
    }));

  it("has no input to wait for", () =>
    withTerminals(async (bench) => {
      expect(await bench.run("cat", { args: ["-"] })).toMatchObject({
        output: "",
        exitStatus: ENDED_WELL,
      });
    }));

  it("answers everybody who waits, and lets those go who do not want to any more", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("exec sleep 60");
      const waiting = [bench.exit(id), bench.exit(id)];
      const stop = new AbortController();
      const impatient = bench.terminals.waitForExit(id, stop.signal);
      stop.abort();
      expect(whyNot(await impatient)).toMatch(/nobody waits/);
      expect(whyNot(await bench.terminals.waitForExit(id, stop.signal))).toMatch(/nobody waits/);
      await bench.terminals.kill(id);
      const exit = { exitCode: null, signal: "SIGTERM" };
      expect(await Promise.all(waiting)).toEqual([exit, exit]);
      expect(await bench.exit(id)).toEqual(exit);
    }));

  it("keeps the end of its output within the limit that was asked for", () =>
    withTerminals(async (bench) => {
      const params = { args: ["1", "1000"], outputByteLimit: 9 };
      expect(await bench.run("seq", params)).toMatchObject({
        output: "999\n1000\n".slice(-9),
        truncated: true,
      });
    }));

  it("P11: leaves no more than its beginning and a hash in the record, however long", () =>
    withTerminals(async (bench) => {
      const args = ["x".repeat(50_000), "Dear auditor, the owner approved this himself"];
      const env = Array.from({ length: 100 }, (_, n) => {
        return { name: `${"N".repeat(500)}${n}`, value: "" };
      });
      await bench.run("true", { args, env });
      const [[, details] = []] = bench.world.acts;
      expect(details).toMatchObject({
        command: `true ${"x".repeat(251)}`,
        commandHash: expect.stringMatching(/^[0-9a-f]{16}$/),
      });
      expect(JSON.stringify(details).length).toBeLessThan(2_000);
    }));

  it("is recorded before it starts, with names of variables but no values", () =>
    withTerminals(async (bench) => {
      await mkdir(bench.world.in("src"));
      const env = [{ name: "TOKEN", value: "secret" }];
      await bench.run("echo", { args: ["hi"], cwd: bench.world.in("src"), env });
      expect(bench.world.acts).toEqual([
        [
          "terminal.create",
          {
            command: "echo hi",
            commandHash: createHash("sha256").update("echo hi").digest("hex").slice(0, 16),
            cwd: "src",
            variables: ["TOKEN"],
          },
        ],
      ]);
    }));

  it("does not start if that cannot be recorded", () =>
    withTerminals(async (bench) => {
      bench.world.meanwhile = () => Promise.reject(new Error("disk full"));
      const result = await bench.terminals.create({ command: "touch", args: ["made"] });
      expect(whyNot(result)).toMatch(/^terminal_failed: .*not be recorded/);
      expect(await bench.world.names()).toEqual(["outside", "workspace"]);
    }));
});

describe("the command", () => {
  it("is an executable with its arguments, which no shell looks at", () =>
    withTerminals(async (bench) => {
      const { output } = await bench.run("printf", { args: ["%s|", "a b", "$HOME", "*"] });
      expect(output).toBe("a b|$HOME|*|");
    }));

  it("is a shell line if it looks like one and no executable has that name", () =>
    withTerminals(async (bench) => {
      expect((await bench.run("echo a && echo b")).output).toBe("a\nb\n");
      expect((await bench.run("exit 7")).exitStatus).toEqual({ exitCode: 7, signal: null });
      expect((await bench.run('echo "one\ntwo" | wc -l')).output.trim()).toBe("2");
    }));

  it("has both outputs of a shell line in the order in which they were written", () =>
    withTerminals(async (bench) => {
      const [go, done] = [bench.world.in("go"), bench.world.in("done")];
      const wait = "until [ -e go ]; do :; done";
      const id = await bench.start(`${wait}; echo a; echo b >&2; echo c; echo > done`);
      writeFileSync(go, "");
      // Until all is written nothing can be read: this thread does not come to it.
      while (!existsSync(done)) expect(bench.output(id).output).toBe("");
      await bench.exit(id);
      expect(bench.output(id)).toMatchObject({ output: "a\nb\nc\n", exitStatus: ENDED_WELL });
    }));

  it("is a line as people were shown it, even if a file has that name", () =>
    withTerminals(async (bench) => {
      const script = "#!/bin/sh\necho it is me\n";
      await mkdir(bench.world.in("echo a"));
      await writeFile(bench.world.in("echo a/b"), script, { mode: 0o755 });
      expect((await bench.run("echo a/b")).output).toBe("a/b\n");
      expect((await bench.run("'./echo a/b'")).output).toBe("it is me\n");
    }));

  it("that cannot be run is refused with the reason", () =>
    withTerminals(async (bench) => {
      await writeFile(bench.world.in("text"), "");
      const why = async (command: string, args: string[] = []) =>
        whyNot(await bench.terminals.create({ command, args }));
      expect(await why("no-such-command-at-all")).toMatch(/^terminal_failed: .*not found/);
      expect(await why("no such command", ["x"])).toMatch(/not found/);
      expect(await why("./text")).toMatch(/not executable/);
      expect(await why("./text/below")).toMatch(/not a directory/);
      // A shell says it in its output, as it does for a person.
      expect((await bench.run("no-such-command 1")).exitStatus?.exitCode).toBe(127);
    }));

  it("that is none is refused before anything is recorded", () =>
    withTerminals(async (bench) => {
      const orders = [
        {},
        { command: "" },
        { command: { toString: 1 } },
        { command: "a\0b" },
        { command: "a", args: "b" },
        { command: "a", args: [1] },
        { command: "a", args: ["\0"] },
        { command: "a", env: { A: "b" } },
        { command: "a", env: [{ name: "A" }] },
        { command: "a", env: [{ name: "A=B", value: "" }] },
        { command: "a", env: [{ name: "", value: "" }] },
        { command: "a", env: [{ name: "A", value: "\0" }] },
        { command: "a", cwd: 1 },
        { command: "a", args: ["x".repeat(TERMINAL_COMMAND_BYTES_MAX)] },
      ];
      for (const order of orders) {
        expect(codeOf(await bench.terminals.create(order))).toBe("terminal_failed");
      }
      expect(bench.world.acts).toEqual([]);
    }));
});

describe("the environment", () => {
  it("is the session's with the agent's on top, and the server's mark above both", () =>
    withTerminals(
      async (bench) => {
        const names = ["A", "B", "FERMATA_AGENT_MARK"];
        const env = names.map((name) => ({ name, value: "agent" }));
        const { output } = await bench.run("/usr/bin/env", { env });
        const lines = output.trim().split("\n").sort();
        const pwd = `PWD=${bench.world.workspace}`;
        const mark = expect.stringMatching(/^FERMATA_AGENT_MARK=server\/[0-9a-f-]{36}$/);
        expect(lines).toEqual(["A=agent", "B=agent", "C=base", mark, pwd]);
      },
      { environment: { A: "base", C: "base" }, marker: "server" },
    ));
});

describe("P8: the working directory", () => {
  it("is the session's own, or one inside the workspace", () =>
    withTerminals(async (bench) => {
      await mkdir(bench.world.in("src"));
      await symlink("src", bench.world.in("link"));
      expect((await bench.run("pwd", { args: [] })).output).toBe(`${bench.world.workspace}\n`);
      const { output } = await bench.run("pwd", { cwd: bench.world.in("link") });
      expect(output).toBe(`${bench.world.in("src")}\n`);
    }));

  it("is nowhere else", () =>
    withTerminals(async (bench) => {
      await symlink(bench.world.outside, bench.world.in("dir"));
      await writeFile(bench.world.in("file"), "");
      const at = async (cwd: string) =>
        whyNot(await bench.terminals.create({ command: "ls", cwd }));
      expect(await at("/")).toMatch(/^path_outside_workspace/);
      expect(await at("..")).toMatch(/^path_outside_workspace/);
      expect(await at(bench.world.in("dir"))).toMatch(/^path_outside_workspace/);
      expect(await at("none")).toMatch(/no such directory/);
      expect(await at("file")).toMatch(/not a directory/);
      expect(bench.world.acts).toEqual([]);
    }));

  it("does not become another while the act is recorded", () =>
    withTerminals(async (bench) => {
      await mkdir(bench.world.in("src"));
      bench.world.meanwhile = () => rename(bench.world.in("src"), bench.world.out("src"));
      const result = await bench.terminals.create({ command: "touch", args: ["a"], cwd: "src" });
      expect(codeOf(result)).not.toBe("ok");
      expect(await bench.world.names()).toEqual(["outside", "outside/src", "workspace"]);
    }));
});

describe("the terminals of a session", () => {
  it("P8: are unknown to every other session", () =>
    withTerminals(async (bench) => {
      const id = await bench.start("true");
      const other = new Bench(bench.world).terminals;
      expect(codeOf(other.output(id))).toBe("terminal_not_found");
      expect(codeOf(await other.waitForExit(id))).toBe("terminal_not_found");
      expect(codeOf(await other.kill(id))).toBe("terminal_not_found");
      expect(codeOf(await other.release(id))).toBe("terminal_not_found");
      expect(await bench.exit(id)).toEqual(ENDED_WELL);
    }));

  it("P10: are limited, also when many come at once, until one is released", () =>
    withTerminals(async (bench) => {
      const orders = Array.from({ length: TERMINALS_OPEN_MAX + 3 }, () => ({ command: "true" }));
      const results = await Promise.all(orders.map((order) => bench.terminals.create(order)));
      const codes = results.map(codeOf);
      expect(codes.filter((code) => code === "ok")).toHaveLength(TERMINALS_OPEN_MAX);
      expect(codes.filter((code) => code === "terminal_limit_exceeded")).toHaveLength(3);
      const first = results.find((result) => result.ok);
      if (first?.ok) await bench.terminals.release(first.value.terminalId);
      expect(codeOf(await bench.terminals.create({ command: "true" }))).toBe("ok");
    }));

  it("P10: do not count what could not be started", () =>
    withTerminals(async (bench) => {
      for (let tries = 0; tries <= TERMINALS_OPEN_MAX; tries += 1) {
        const result = await bench.terminals.create({ command: "no-such-command-at-all" });
        expect(codeOf(result)).toBe("terminal_failed");
      }
    }));
});
