import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ada, NEVER, turn, withSession } from "./runtime.fixture.ts";
import { Stage, value } from "./stage.fixture.ts";

const SHELL = { actor: ada, idempotency: null } as const;

describe("beside its turns, a session", () => {
  it("runs a client's command, shows it as a task, and tells the agent of it", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    const go = join(stage.folder, "go");
    const command = `echo from-the-shell; while [ ! -e ${go} ]; do sleep 0.01; done`;
    const running = runtime.side.shell(key, { ...SHELL, command }, NEVER);
    await live.until(({ shells }) => shells.size > 0);
    const { tasks } = value(await runtime.side.tasks(key));
    expect(tasks).toMatchObject([{ kind: "shell", command, status: "running" }]);
    value(await runtime.side.shell(key, { ...SHELL, command: `touch ${go}` }, NEVER));
    expect(value(await running)).toMatchObject({ exitCode: 0, output: "from-the-shell\n" });
    expect(value(await runtime.side.tasks(key)).tasks).toEqual([]);
    expect(live.session.shellContext.join()).toContain("from-the-shell");
    await runtime.shutDown(NEVER);
  });

  it("ends a command that is cancelled by its task's name", async () => {
    const { runtime, key, live } = await withSession(await Stage.open());
    const running = runtime.side.shell(key, { ...SHELL, command: "sleep 600" }, NEVER);
    await live.until(({ shells }) => shells.size > 0);
    const [task] = value(await runtime.side.tasks(key)).tasks;
    expect(value(await runtime.side.cancelTask(key, task?.id ?? expect.fail()))).toBe(true);
    expect(value(await running)).toMatchObject({ aborted: true });
    await runtime.shutDown(NEVER);
  });

  it("P5: leaves no command behind when the server stops", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    const late = join(stage.folder, "late");
    const running = runtime.side.shell(
      key,
      { ...SHELL, command: `sleep 60; touch ${late}` },
      NEVER,
    );
    await live.until(({ shells }) => shells.size > 0);
    await runtime.shutDown(AbortSignal.abort());
    expect(value(await running)).toMatchObject({ aborted: true });
    expect(existsSync(late)).toBe(false);
    const again = await runtime.side.shell(key, { ...SHELL, command: "true" }, NEVER);
    expect(again).toMatchObject({ ok: false, refusal: { code: "server_stopping" } });
  });

  it("answers a question by the way, and a recap once there is something to tell", async () => {
    const { runtime, key, live } = await withSession(await Stage.open());
    expect(value(await runtime.side.recap(key))).toBeNull();
    await turn(live, "say hello");
    const before = live.lastEventId;
    expect(value(await runtime.side.btw(key, "what is this?", NEVER))).toContain("what is this?");
    expect(value(await runtime.side.recap(key))).not.toBeNull();
    expect(live.lastEventId).toBe(before);
    await runtime.shutDown(NEVER);
  });

  it("can be forked from its last turn, and the fork goes on by itself", async () => {
    const { runtime, key, live } = await withSession(await Stage.open());
    await turn(live, "say hello");
    const order = { actor: ada, turnId: null, name: "Elsewhere" };
    const forked = value(await runtime.side.fork(key, order)) ?? expect.fail("no turn");
    const fork = value(await runtime.resume(forked.key, ada)).live;
    await turn(fork, "recall");
    expect(fork.session.totals.turnsCompleted).toBeGreaterThan(0);
    expect(fork.session.chosen.displayName).toBe("Elsewhere");
    await runtime.shutDown(NEVER);
  });
});
