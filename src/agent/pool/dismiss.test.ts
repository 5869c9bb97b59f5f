import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { AGENT_COPIES_DELETING_TENANT_MAX, AGENT_FAILURES_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { AgentCaller } from "../agent.ts";
import { codeOf, Ears, Stage, tenant } from "../bridge/bridge.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { AgentCalls } from "./agent-calls.ts";

const OURS = { tenantId: tenant("ours") };
const THEIRS = { tenantId: tenant("theirs") };

describe("dismissing the agents of a tenant", () => {
  it("P5, P8: ends all of them, used or not, and none of another's", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    await (await stage.connected(profile, OURS)).session.close();
    const used = await stage.connected(stage.echo([], {}, "another"), OURS);
    const other = await stage.connected(profile, THEIRS);
    expect(stage.pool.processCount).toBe(3);
    await stage.pool.dismiss(OURS.tenantId);
    expect(stage.marks()).toHaveLength(1);
    expect(used.ears.exits).toHaveLength(1);
    expect((await other.turn("say on")).text).toBe("on");
  });

  it("P8: starts none again for copies that still wait to be deleted", async () => {
    const stage = new Stage();
    const agent = new URL("../bridge/keeping-agent.fixture.ts", import.meta.url).pathname;
    const profile = stage.command(process.execPath, [agent, "delete", "no-end-of-delete"]);
    const { session } = await stage.connected(profile, OURS);
    await session.close();
    const caller = { ...stage.order(profile), ...OURS };
    const copies = ["a", "b", "c"].map((id) => stage.pool.calls.delete(caller, id));
    const calls = () => readFileSync(join(stage.folder, "calls.jsonl"), "utf8");
    await expect.poll(calls).toContain("session/delete");
    await stage.pool.dismiss(OURS.tenantId);
    expect(await Promise.all(copies)).toEqual(["failed", "dropped", "dropped"]);
    expect(stage.pool.processCount).toBe(0);
    expect(calls().match(/"initialize"/g)).toHaveLength(1);
  });

  it("P8: has no more copies waiting than its share, and others have theirs", async () => {
    const gate = Promise.withResolvers<Result<never>>();
    const keyOf = vi.fn((_: AgentCaller) => gate.promise);
    const calls = new AgentCalls({ keyOf, use: () => gate.promise });
    const caller = { userId: null, profile: "p", workspace: "/", asks: true };
    const many = Array.from({ length: AGENT_COPIES_DELETING_TENANT_MAX + 1 }, (_, n) => {
      return calls.delete({ ...caller, ...OURS }, `${n}`);
    });
    const other = calls.delete({ ...caller, ...THEIRS }, "x");
    expect(await many.at(-1)).toBe("dropped");
    expect(keyOf.mock.calls.map(([{ tenantId }]) => tenantId)).toContain(THEIRS.tenantId);
    gate.reject(new Error("no key"));
    expect(await Promise.all([many[0], other])).toEqual(["failed", "failed"]);
  });

  it("calls off one that is on its way; whoever waited for it is told", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, startMs: 60_000 };
    const profile = stage.echo(["--slow-start", "60000"], { limits });
    const connecting = stage.connect(profile, OURS, new Ears());
    await expect.poll(() => stage.marks()).toHaveLength(1);
    await stage.pool.dismiss(OURS.tenantId);
    expect(codeOf(await connecting)).toBe("agent_connect_aborted");
    expect(stage.marks()).toEqual([]);
  });

  it("forgets how often they failed: a tenant of the same name begins anew", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--exit-at-start", "1"]);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      await stage.connect(profile, OURS);
      stage.nowMs += 100_000;
    }
    stage.nowMs -= 100_000;
    expect(codeOf(await stage.connect(profile, OURS))).toBe("agent_breaker_open");
    await stage.pool.dismiss(OURS.tenantId);
    stage.echo();
    expect((await (await stage.connected(profile, OURS)).turn("say hi")).text).toBe("hi");
  });
});
