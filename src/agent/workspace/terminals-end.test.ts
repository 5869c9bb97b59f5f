import { describe, expect, it } from "vitest";
import { TERMINAL_OUTPUT_BYTES_MAX } from "../../core/limits.ts";
import { Terminal } from "./terminal.ts";
import { Bench, isRunning, withTerminals } from "./terminals.fixture.ts";
import { codeOf, whyNot } from "./world.fixture.ts";

/** Says its number, then ignores being asked to end. */
const STUBBORN = "trap '' TERM; echo $$ > pid; echo ready; while :; do sleep 1; done";

/** Leaves a child behind that writes to the same output, and one that does not. */
const LEAVING = `
  sh -c 'echo $$ > loud; echo ready; exec sleep 60' &
  sh -c 'echo $$ > quiet; exec sleep 60' > /dev/null 2>&1 &
  until [ -s loud ] && [ -s quiet ]; do :; done
  echo gone`;

describe("killing a terminal", () => {
  it("ends the command and keeps what it wrote until the release", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("echo $$ > pid; echo ready; exec sleep 60");
      await bench.said(id, "ready");
      expect(codeOf(await bench.terminals.kill(id))).toBe("ok");
      expect(await isRunning(await bench.pid("pid"))).toBe(false);
      const exitStatus = { exitCode: null, signal: "SIGTERM" };
      expect(bench.output(id)).toEqual({ output: "ready\n", truncated: false, exitStatus });
      expect(codeOf(await bench.terminals.kill(id))).toBe("ok");
      expect(codeOf(await bench.terminals.release(id))).toBe("ok");
      expect(codeOf(bench.terminals.output(id))).toBe("terminal_not_found");
    }));

  it("lets the command end in its own way", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do :; done");
      await bench.said(id, "ready");
      await bench.terminals.kill(id);
      const exitStatus = { exitCode: 5, signal: null };
      expect(bench.output(id)).toMatchObject({ output: "ready\nbye\n", exitStatus });
    }));

  it("P10: waits only so long for one that does not want to", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell(STUBBORN);
      await bench.said(id, "ready");
      await Promise.all([bench.terminals.kill(id), bench.terminals.kill(id)]);
      expect(await isRunning(await bench.pid("pid"))).toBe(false);
      expect(await bench.exit(id)).toEqual({ exitCode: null, signal: "SIGKILL" });
    }));
});

describe("P5: children of a command", () => {
  it("do not keep its end from being told", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell(LEAVING);
      expect(await bench.exit(id)).toEqual({ exitCode: 0, signal: null });
      expect(bench.output(id).output).toBe("ready\ngone\n");
      expect(await isRunning(await bench.pid("loud"))).toBe(true);
    }));

  it.each(["kill", "release", "endAll"] as const)("are gone after %s", (way) =>
    withTerminals(async (bench) => {
      const id = await bench.shell(LEAVING);
      await bench.exit(id);
      await bench.terminals[way](id);
      expect(await isRunning(await bench.pid("loud"))).toBe(false);
      expect(await isRunning(await bench.pid("quiet"))).toBe(false);
    }),
  );
});

describe("releasing a terminal", () => {
  it("ends the command, answers who waits for it, and forgets it", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("echo $$ > pid; echo ready; exec sleep 60");
      await bench.said(id, "ready");
      const waiting = bench.exit(id);
      const releasing = bench.terminals.release(id);
      expect(codeOf(bench.terminals.output(id))).toBe("terminal_not_found");
      await releasing;
      expect(await waiting).toEqual({ exitCode: null, signal: "SIGTERM" });
      expect(await isRunning(await bench.pid("pid"))).toBe(false);
    }));

  it("lets go of output that a process outside the group still holds", () =>
    withTerminals(async (bench) => {
      const writer = "echo $$ > pid; while echo tick; do sleep 0.01; done";
      const id = await bench.shell(`setsid sh -c '${writer}' &`);
      await bench.said(id, "tick");
      const pid = await bench.pid("pid");
      expect(await isRunning(pid)).toBe(true);
      await bench.terminals.release(id);
      // The pipe has no reader any more, so the system ends the writer.
      await expect.poll(() => isRunning(pid)).toBe(false);
    }));
});

describe("P5: the end of a session", () => {
  it("ends every terminal, and nothing starts any more", () =>
    withTerminals(async (bench) => {
      const scripts = ["a", "b", "c"].map((name) => `echo $$ > ${name}; echo ready; exec sleep 60`);
      const ids = await Promise.all(scripts.map((script) => bench.shell(script)));
      for (const id of ids) await bench.said(id, "ready");
      await bench.terminals.endAll();
      for (const name of ["a", "b", "c"])
        expect(await isRunning(await bench.pid(name))).toBe(false);
      const late = await bench.terminals.create({ command: "true" });
      expect(whyNot(late)).toMatch(/session is over/);
    }));

  it("ends what has left its command's group, and only what is the session's own", () =>
    withTerminals(async (bench) => {
      const other = new Bench(bench.world, { marker: bench.marker });
      const daemon = (name: string) =>
        `setsid sh -c 'echo $$ > ${name}; exec sleep 60' > /dev/null 2>&1 &
         until [ -s ${name} ]; do :; done`;
      const id = await bench.shell(daemon("own"));
      await bench.exit(id);
      await bench.terminals.release(id);
      await other.exit(await other.shell(daemon("others")));
      expect(await isRunning(await bench.pid("own"))).toBe(true);
      await bench.terminals.endAll();
      expect(await isRunning(await bench.pid("own"))).toBe(false);
      expect(await isRunning(await bench.pid("others"))).toBe(true);
      await other.terminals.endAll();
      expect(await isRunning(await bench.pid("others"))).toBe(false);
    }));

  it("waits for those that are being released already", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell(STUBBORN);
      await bench.said(id, "ready");
      const releasing = bench.terminals.release(id);
      await bench.terminals.endAll();
      expect(await isRunning(await bench.pid("pid"))).toBe(false);
      await releasing;
    }));

  it("also catches one that is being recorded just then", () =>
    withTerminals(async (bench) => {
      bench.world.meanwhile = () => bench.terminals.endAll();
      const late = await bench.terminals.create({ command: "touch", args: ["made"] });
      expect(whyNot(late)).toMatch(/session is over/);
      expect(await bench.world.names()).toEqual(["outside", "workspace"]);
    }));

  it("also catches one that cannot be started just then", () =>
    withTerminals(async (bench) => {
      const failing = bench.terminals.create({ command: "no-such-command-at-all" });
      await bench.terminals.endAll();
      expect(codeOf(await failing)).toBe("terminal_failed");
    }));

  it("does not wait for one that never was", async () => {
    const nothing = { file: "/no/such/file", args: [], cwd: "/", environment: {} };
    const terminal = new Terminal({ ...nothing, outputBytesMax: 1, user: null });
    await terminal.release();
    expect(await terminal.started).toMatch(/not found/);
  });
});

describe("P10: a command that floods", () => {
  it("is never held up, and of what it writes only the end is kept", () =>
    withTerminals(async (bench) => {
      const params = { args: ["-c", "yes | head -c 100000000; echo end"] };
      const { output, truncated } = await bench.run("/bin/sh", params);
      expect(Buffer.byteLength(output)).toBe(TERMINAL_OUTPUT_BYTES_MAX);
      expect([output.endsWith("y\nend\n"), truncated]).toEqual([true, true]);
    }));

  it("cannot keep more by asking for it", () =>
    withTerminals(async (bench) => {
      const args = ["-c", "head -c 3000000 /dev/zero"];
      const { output } = await bench.run("sh", { args, outputByteLimit: 1e15 });
      expect(output.length).toBe(TERMINAL_OUTPUT_BYTES_MAX);
    }));

  it("can be ended while it does", () =>
    withTerminals(async (bench) => {
      const id = await bench.shell("echo $$ > pid; exec yes");
      await bench.said(id, "y");
      await bench.terminals.release(id);
      expect(await isRunning(await bench.pid("pid"))).toBe(false);
    }));
});
