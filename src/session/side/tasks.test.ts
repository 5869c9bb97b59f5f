import { describe, expect, it } from "vitest";
import { tasksAnswer } from "./shell.ts";
import { isAlive, ShellStage } from "./side.fixture.ts";

describe("the tasks of a session", () => {
  it("are the shell commands that run in it, until they have ended", async () => {
    const side = await ShellStage.open();
    const { shells, hand, stage } = side;
    const tasks = () => {
      const { session } = hand.live;
      return tasksAnswer(session, stage.world.clock.nowMs(), (id) => shells.locationOf(id));
    };
    expect(tasks()).toMatchObject({ v: 1, sessionId: hand.sessionId, tasks: [] });
    const command = "echo up\nsleep 1000";
    const running = side.run(command);
    await side.output(/up/);
    const { now, tasks: found } = tasks();
    const [task] = found;
    if (task?.pid === undefined) expect.fail();
    expect(found).toEqual([
      {
        kind: "shell",
        id: [...hand.live.session.shells.keys()][0],
        label: "echo up",
        description: command,
        status: "running",
        startTime: now - task.runtimeMs,
        runtimeMs: expect.any(Number),
        command,
        cwd: stage.folder,
        pid: task.pid,
      },
    ]);
    expect(await isAlive(task.pid)).toBe(true);
    const other = { ...hand.live.key, sessionId: stage.world.ids.session() };
    expect(shells.cancel(other, task.id)).toBe(false);
    expect(shells.cancel(hand.live.key, task.id)).toBe(true);
    expect(await running).toMatchObject({ value: { aborted: true } });
    expect(tasks().tasks).toEqual([]);
    expect(shells.cancel(hand.live.key, task.id)).toBe(false);
  });
});
