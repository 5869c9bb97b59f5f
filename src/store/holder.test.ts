import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  describeHolder,
  type Holder,
  isAliveHere,
  isGone,
  isThisProcess,
  mayTake,
  readHolder,
  thisHolder,
} from "./holder.ts";

describe("P5: the holder of a session", () => {
  it("is not gone while its process lives", () => {
    expect(isGone(thisHolder("me"))).toBe(false);
    expect(isThisProcess(thisHolder("me"))).toBe(true);
  });

  it("is gone when its process has ended", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const holder: Holder = { ...thisHolder("child"), ...startOf(child.pid ?? 0) };
    expect(isGone(holder)).toBe(false);
    expect(isThisProcess(holder)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isGone(holder)).toBe(true);
  });

  it("is gone when its process is dead, even before anybody has buried it", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const exit = once(child, "exit");
    const holder: Holder = { ...thisHolder("child"), ...startOf(child.pid ?? 0) };
    child.kill("SIGKILL");
    // This loop lets no event through, so that Node has no chance to bury its child meanwhile.
    while (!/\) Z /.test(readFileSync(`/proc/${child.pid}/stat`, "utf8")));
    expect(isGone(holder)).toBe(true);
    await exit;
  });

  it("is gone when its pid belongs to another process now, or the machine was restarted", () => {
    expect(isGone({ ...thisHolder("me"), startedAt: "1" })).toBe(true);
    expect(isGone({ ...thisHolder("me"), bootId: "an earlier one" })).toBe(true);
  });

  it("on another machine is never said to be gone", () => {
    expect(isGone({ ...thisHolder("me"), host: "elsewhere", startedAt: "1" })).toBe(false);
  });

  it("is known to be alive on this machine, also under a name that it had before", () => {
    const me = thisHolder("me");
    const renamed = { ...me, host: "before" };
    expect([me, renamed].map(isAliveHere)).toEqual([true, true]);
    for (const change of [{ startedAt: "1" }, { bootId: "another" }]) {
      expect(isAliveHere({ ...me, ...change })).toBe(false);
      expect(isAliveHere({ ...renamed, ...change })).toBe(false);
    }
  });

  it("keeps what it holds from everybody but itself", () => {
    const me = thisHolder("me");
    const far = { ...me, host: "elsewhere" };
    expect(mayTake(me, { ...me })).toBe(true);
    expect(mayTake(far, { ...far })).toBe(true);
    for (const field of ["host", "bootId", "startedAt", "label"] as const) {
      expect(mayTake(me, { ...me, [field]: "another" })).toBe(false);
      expect(mayTake(far, { ...far, [field]: "another" })).toBe(false);
    }
    expect(mayTake(me, { ...me, pid: me.pid + 1 })).toBe(false);
    expect(mayTake(far, me)).toBe(false);
  });

  it("keeps nothing that it has given up, or once it is gone", () => {
    const me = thisHolder("me");
    expect(mayTake(null, me)).toBe(true);
    expect(mayTake({ ...me, startedAt: "1" }, thisHolder("other"))).toBe(true);
  });

  it("is read as it was written, and what was not written by us is nobody", () => {
    const me = thisHolder("me");
    expect(readHolder(JSON.stringify(me))).toEqual(me);
    for (const text of ["", "null", "[]", "{}", JSON.stringify({ ...me, pid: "1" })]) {
      expect(readHolder(text)).toBeNull();
    }
  });

  it("is named so that a person can find it", () => {
    const holder = { ...thisHolder("daemon"), pid: 42, host: "box" };
    expect(describeHolder(holder)).toBe("daemon (process 42 on box)");
  });
});

/** As the child itself would say it. */
function startOf(pid: number): Pick<Holder, "pid" | "startedAt"> {
  const self = process.getBuiltinModule("node:fs");
  const stat = self.existsSync(`/proc/${pid}/stat`)
    ? self.readFileSync(`/proc/${pid}/stat`, "utf8")
    : "";
  return { pid, startedAt: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "" };
}
