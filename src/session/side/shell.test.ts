import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  SHELL_CONTEXT_CHARS_MAX,
  SHELL_MS_MAX,
  SHELL_OUTPUT_CHARS_MAX,
  SHELL_OUTPUT_PAUSE_MS,
  SHELLS_OPEN_MAX,
} from "../../core/limits.ts";
import { fail, ok } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { SecretGuard, type SessionKey } from "../../store/index.ts";
import { shutDown } from "../life/ending.ts";
import { ANYBODY, SERVER, Stage, value } from "../stage.fixture.ts";
import { OUTPUT_LEFT_OUT } from "./shell-command.ts";
import {
  areGone,
  bound,
  CALLER,
  FOREVER,
  isAlive,
  PatientClock,
  ShellStage,
} from "./side.fixture.ts";

describe("a client's shell command", () => {
  it("P1: is told as it happens and as it is stored: command, output, result", async () => {
    const side = await ShellStage.open();
    const answer = value(await side.run("echo out; echo err >&2; pwd; exit 3"));
    const output = `out\nerr\n${side.stage.folder}\n`;
    expect(answer).toMatchObject({ exitCode: 3, signal: null, aborted: false });
    expect(answer.output.split("\n").sort()).toEqual(output.split("\n").sort());
    expect(side.pieces.join("")).toBe(answer.output);
    expect(side.told[0]?.type).toBe("user_shell_command");
    expect(side.told.at(-1)).toMatchObject({ type: "user_shell_result", data: answer });
    const { store } = side.stage.world;
    const page = value(await store.readEvents(side.hand.live.key, { after: 0, limit: 1_000 }));
    const stored = page.events.map(({ text }) => JSON.parse(text));
    expect(stored.slice(-side.told.length)).toEqual(side.told);
  });

  it("has no input, runs in the session's directory and in the given environment", async () => {
    const side = await ShellStage.open();
    const { output } = value(await side.run('cat; echo "$PWD|$HOME|$PATH"'));
    expect(output).toBe(`${side.stage.folder}||${process.env.PATH}\n`);
  });

  it("may begin with a dash, and says why it could not be run", async () => {
    const side = await ShellStage.open();
    expect(value(await side.run("-x"))).toMatchObject({ exitCode: 127 });
    const odd = value(await side.run("echo \0"));
    expect(odd).toMatchObject({ exitCode: null, aborted: false, error: /characters/ });
    expect(side.told.at(-1)).toMatchObject({ type: "user_shell_result", data: odd });
  });

  it("is told to the agent with the next prompt", async () => {
    const side = await ShellStage.open();
    await side.run("echo from the shell");
    await side.hand.turn("recall");
    expect(side.hand.text).toContain("Before this prompt came: $ echo from the shell\nfrom the");
    await side.hand.turn("recall");
    expect(side.hand.text.match(/\$ echo from/g)).toHaveLength(1);
  });

  it("is only for clients that the session knows by name", async () => {
    const side = await ShellStage.open();
    const request = { command: "touch never", actor: ANYBODY, idempotency: null };
    const refused = await side.shells.run(side.hand.live, request, FOREVER);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "client_id_required" } });
    expect(existsSync(join(side.stage.folder, "never"))).toBe(false);
  });

  it("P11: shows no secret, in its stream, its result or its answer", async () => {
    const guard = new SecretGuard();
    guard.know("sk-very-secret-value");
    const side = await ShellStage.open({ guard });
    const answer = value(await side.run("printf 'sk-very-%s' secret-value"));
    expect(answer.output).toBe("[redacted]");
    expect(JSON.stringify(side.told)).not.toContain("sk-very-secret");
  });
});

describe("P10: the output of a command", () => {
  it("is told in few pieces, however it comes", async () => {
    // The pause behind the first piece lasts until the command has ended.
    const clock = (real: Clock) => new PatientClock(real, SHELL_OUTPUT_PAUSE_MS);
    const side = await ShellStage.open({}, clock);
    const { output } = value(
      await side.run("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done"),
    );
    const lines = Array.from({ length: 2_000 }, (_, index) => `${index}\n`).join("");
    expect(output).toBe(lines);
    expect(side.pieces.join("")).toBe(lines);
    expect(side.pieces.length).toBeLessThanOrEqual(2);
  });

  it("is told up to its limit, and its result has the end all the same", async () => {
    const side = await ShellStage.open();
    const answer = value(await side.run("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"));
    expect(answer).toMatchObject({ exitCode: 0 });
    expect(answer.output).toHaveLength(SHELL_CONTEXT_CHARS_MAX);
    expect(answer.output).toMatch(/x\nend\n$/);
    const told = side.pieces.join("");
    expect(told).toHaveLength(SHELL_OUTPUT_CHARS_MAX + OUTPUT_LEFT_OUT.length);
    expect(told.endsWith(OUTPUT_LEFT_OUT)).toBe(true);
  });

  it("never has half a character", async () => {
    const side = await ShellStage.open();
    const { output } = value(await side.run("yes 😀 | head -n 100000"));
    expect(output).toMatch(/^(?:😀|\n)+$/u);
    expect(side.pieces.every((piece) => /^(?:😀|\n|\[.*)+$/u.test(piece))).toBe(true);
  });
});

describe("P5: nothing is left of a command", () => {
  const FAMILY = "sleep 1000 & echo $!; sleep 1000 & echo $!; echo $$";

  async function family(side: ShellStage): Promise<readonly number[]> {
    const output = await side.output(/(\d+\n){3}/);
    const pids = output.trim().split("\n").map(Number);
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true, true]);
    return pids;
  }

  it("that has ended: what it left in the background ends with it", async () => {
    const side = await ShellStage.open();
    const { output } = value(await side.run("sleep 1000 > /dev/null & echo $!"));
    await areGone([Number(output)]);
  });

  it("that keeps its output open from outside of its group", async () => {
    const side = await ShellStage.open();
    const { output } = value(await side.run("setsid sleep 1000 & echo $!; sleep 0.1"));
    const pid = Number(output);
    // No number would be nought, and that is the group of these very tests.
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
  });

  it("whose caller is gone", async () => {
    const side = await ShellStage.open();
    const caller = new AbortController();
    const running = side.run(`${FAMILY}; wait`, caller.signal);
    const pids = await family(side);
    caller.abort();
    expect(value(await running)).toMatchObject({
      exitCode: null,
      signal: "SIGTERM",
      aborted: true,
    });
    await areGone(pids);
    expect(side.told.at(-1)).toMatchObject({ data: { aborted: true } });
  });

  it("that does not end when it is asked to", async () => {
    const side = await ShellStage.open();
    const caller = new AbortController();
    const running = side.run(
      `trap '' TERM; ${FAMILY}; wait; wait; while :; do :; done`,
      caller.signal,
    );
    const pids = await family(side);
    caller.abort();
    expect(value(await running)).toMatchObject({ signal: "SIGKILL", aborted: true });
    await areGone(pids);
  });

  it("whose time is up, and its result says so", async () => {
    let clock: PatientClock | null = null;
    const side = await ShellStage.open({}, (real) => {
      clock = new PatientClock(real, SHELL_MS_MAX);
      return clock;
    });
    const running = side.run(`${FAMILY}; wait`);
    const pids = await family(side);
    Object(clock).pass(SHELL_MS_MAX);
    expect(value(await running)).toMatchObject({ aborted: true, error: /after 120 seconds/ });
    await areGone(pids);
  });

  it.each([
    ["closed", (side: ShellStage) => side.hand.say("close", {}, CALLER)],
    ["stopped", (side: ShellStage) => side.hand.say("stop", { reason: "killed" }, SERVER)],
    ["let go", (side: ShellStage) => side.stage.registry.evict(side.hand.live, "idle_timeout")],
  ])("whose session is %s, and it has one result", async (_, end) => {
    const side = await ShellStage.open();
    const running = side.run(`${FAMILY}; wait`);
    const pids = await family(side);
    await end(side);
    expect(value(await running)).toMatchObject({ aborted: true });
    await areGone(pids);
    const results = side.told.filter(({ type }) => type === "user_shell_result");
    expect(results).toMatchObject([{ data: { aborted: true } }]);
  });

  it("when the server stops, and none is started any more", async () => {
    const side = await ShellStage.open();
    const running = side.run(`${FAMILY}; wait`);
    const pids = await family(side);
    await side.shells.endAll();
    await areGone(pids);
    expect(value(await running)).toMatchObject({ aborted: true });
    expect(await side.run("true")).toMatchObject({ refusal: { code: "server_stopping" } });
  });

  it("P10: and at most sixteen run at a time", async () => {
    const side = await ShellStage.open();
    const many = Array.from({ length: SHELLS_OPEN_MAX }, () => side.run("echo up; sleep 1000"));
    await side.stage.until(() => side.pieces.length === SHELLS_OPEN_MAX);
    expect(await side.run("true")).toMatchObject({ refusal: { code: "shell_limit_exceeded" } });
    await side.shells.endAll();
    await Promise.all(many);
  });
});

describe("P2: a command that is sent twice with one key", () => {
  const KEY = { key: "k", hash: "h" };

  it("runs once, and is answered the same, while it runs and when it has ended", async () => {
    const side = await ShellStage.open();
    const command = "echo run >> runs; echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 4";
    const first = side.run(command, FOREVER, KEY);
    await side.output(/ready/);
    const second = side.run(command, FOREVER, KEY);
    writeFileSync(join(side.stage.folder, "go"), "");
    const answer = value(await first);
    expect(answer).toEqual({ exitCode: 4, signal: null, aborted: false, output: "ready\n" });
    expect(value(await second)).toEqual(answer);
    expect(value(await side.run(command, FOREVER, KEY))).toEqual(answer);
    expect(readFileSync(join(side.stage.folder, "runs"), "utf8")).toBe("run\n");
    const other = await side.run("other", FOREVER, { ...KEY, hash: "other" });
    expect(other).toMatchObject({ refusal: { code: "idempotency_conflict" } });
  });

  it("is answered the same after a restart, also when a turn has folded it", async () => {
    const side = await ShellStage.open();
    const answer = value(await side.run("echo once; exit 5", FOREVER, KEY));
    await side.hand.turn("say later");
    await shutDown(side.stage.world, side.stage.registry, AbortSignal.abort());
    const stage = await Stage.open({
      folder: side.stage.folder,
      wrap: (store) =>
        bound(store, (name, own) => {
          if (name !== "readRecord") return own;
          return async (key: SessionKey) => {
            const record = value(await store.readRecord(key));
            return ok({ ...record, earliestEventId: record.lastEventId + 1 });
          };
        }),
    });
    const after = await ShellStage.over(stage, await stage.opened(side.hand.sessionId));
    expect(value(await after.run("echo once; exit 5", FOREVER, KEY))).toEqual(answer);
  });
});

describe("a command whose store fails", () => {
  it("P1, P5: is ended, and its log says that it was aborted", async () => {
    let isBroken = false;
    const side = await ShellStage.open({
      wrap: (store) =>
        bound(store, (name, own) => {
          if (name !== "commit" || !isBroken) return own;
          isBroken = false;
          return async () => fail("store_unavailable", { reason: "pulled out" });
        }),
    });
    const running = side.run("echo $$; while :; do sleep 0.01; echo more; done");
    const pid = Number.parseInt(await side.output(/\d+\n/), 10);
    isBroken = true;
    expect(value(await running)).toMatchObject({ aborted: true });
    await areGone([pid]);
    await side.hand.live.until(({ shells }) => shells.size === 0);
    expect(side.told.at(-1)).toMatchObject({ data: { aborted: true } });
  });
});
