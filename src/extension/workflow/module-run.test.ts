import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { readCode } from "../discovery/code.ts";
import { TrustList } from "../discovery/trust.ts";
import { manifestOf } from "../manifest.fixture.ts";
import { ExtensionThreads } from "../thread/threads.ts";
import type { ActReport, StageExecution, WorkflowRun } from "./contract.ts";
import { ModuleWorkflows } from "./module-workflows.ts";

const TENANT = parseTenantId("local") ?? expect.fail();

const CODE = `export default ({ config, log }) => ({
  input: "the wish",
  stages: [
    {
      id: "make",
      body: "Make \${input} by \${ctx.by}",
      run: "look",
      retry: { maxAttempts: 2 },
      setup: (at) => {
        log("setup of " + at.stageId);
        return { by: config.by ?? "noon", saw: at.ctx.run.output };
      },
      checkGate: () => "proceed",
      next: (at, outcome) => at.input === "stop"
        ? { kind: "pause", reason: outcome }
        : { kind: "parallel", stages: ["one", "two"], join: "end-all" },
    },
    { id: "one", body: "One", assert: () => "perhaps" },
    { id: "two", body: "Two", setup: () => { throw new Error("no way"); } },
    { id: "slow", body: "Slow", setup: () => new Promise(() => {}) },
    { id: "wrong", body: "Wrong", next: () => ({ kind: "sequential", stages: ["nowhere"] }) },
    { id: "end-all", body: "End", exit: (at, act) => ({ said: act.text }) },
  ],
});`;

/** A module in the operator's folder, trusted, and the catalog of such. */
async function made(code = CODE) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-module-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const own = join(folder, "extensions/flow");
  mkdirSync(own, { recursive: true });
  const manifest = { ...manifestOf("flow"), kind: "workflow", description: "Flows" };
  writeFileSync(join(own, "extension.json"), JSON.stringify(manifest));
  writeFileSync(join(own, "index.js"), code);
  const trust = new TrustList(join(folder, "trusted.json"));
  const { code: read } = await readCode(own);
  await trust.add({ hash: read?.hash ?? "", extension: "flow", folder: own, atMs: 0 });
  const rules = {
    configuration: new Map(),
    bundled: join(folder, "none"),
    home: join(folder, "extensions"),
    packageFolder: () => "none",
    trust,
    copies: join(folder, "copies"),
    coreVersion: "0.1.0",
  };
  const logged: string[] = [];
  const modules = new ModuleWorkflows({
    ...{ rules, threads: new ExtensionThreads(), clock: SYSTEM_CLOCK },
    redact: (text) => text,
  });
  const place = { tenantId: TENANT, workspaceCwd: folder };
  const host = {
    tenantId: TENANT,
    session: { sessionId: "s", workspaceCwd: folder, isResumed: false },
    run: async (command: string) => ok({ exitCode: 0, output: `ran ${command}` }),
    log: (text: string) => void logged.push(text),
  };
  const find = async () => {
    const found = await modules.find(place, null, "flow");
    if (!found?.ok) throw new Error(found === null ? "none" : JSON.stringify(found.refusal));
    return found.value;
  };
  const open = async (): Promise<WorkflowRun> => {
    const opened = await modules.open((await find()).text, host);
    if (!opened?.ok) throw new Error("it does not open");
    onTestFinished(() => opened.value.end());
    return opened.value;
  };
  return { own, modules, place, host, trust, logged, find, open };
}

const at = (stageId: string, input = "it"): StageExecution => ({
  ...{ executionId: "e", stageId, attempt: 1, groupId: null, input },
  ...{ ctx: {}, results: {}, visits: {} },
});

const ACT: ActReport = { isCapHit: false, completion: null, text: "Done", isSkipped: false };
const { signal } = new AbortController();

describe("the workflow of a module", () => {
  it("is found with its stages as a plan", async () => {
    const { modules, find } = await made();
    expect(await modules.list(null)).toEqual([
      { name: "flow", description: "Flows", source: "home", why: null },
    ]);
    const { plan } = await find();
    expect(plan).toMatchObject({ name: "flow", input: "the wish", entry: "make", paths: null });
    expect(plan.stages[0]).toMatchObject({ id: "make", run: "look", turnCap: 100 });
    expect(plan.stages[0]?.retry).toEqual({ maxAttempts: 2, backoffMs: 0 });
  });

  it("answers each phase, and has the usual where it has no function", async () => {
    const { open, logged } = await made();
    const run = await open();
    expect(await run.attach(null, signal)).toEqual(ok({}));
    const ctx = { run: { exitCode: 0, output: "ran look" }, by: "noon", saw: "ran look" };
    expect(await run.setup(at("make"), signal)).toEqual(ok(ctx));
    expect(logged).toEqual(["setup of make"]);
    expect(await run.checkGate(at("one"), signal)).toEqual(ok("proceed"));
    expect(await run.assert(at("make"), ACT, signal)).toEqual(ok("ok"));
    expect(await run.exit(at("make"), ACT, "ok", signal)).toEqual(ok("Done"));
    expect(await run.exit(at("end-all"), ACT, "ok", signal)).toEqual(ok({ said: "Done" }));
    expect(await run.next(at("make"), "ok", signal)).toEqual(
      ok({ kind: "parallel", stages: ["one", "two"], join: "end-all" }),
    );
    expect(await run.next(at("make", "stop"), "ok", signal)).toEqual(
      ok({ kind: "pause", reason: "ok" }),
    );
    expect(await run.next(at("one"), "ok", signal)).toEqual(
      ok({ kind: "sequential", stages: ["two"] }),
    );
  });

  it("P6: is refused what it may not answer, and what it throws", async () => {
    const { open } = await made();
    const run = await open();
    const refused = (phase: string, reason: string) => {
      const details = { workflow: "flow", phase, reason };
      return { ok: false, refusal: { code: "workflow_failed", details } };
    };
    expect(await run.assert(at("one"), ACT, signal)).toEqual(
      refused("assert", "it may not answer that"),
    );
    expect(await run.setup(at("two"), signal)).toEqual(refused("setup", "no way"));
    expect(await run.next(at("wrong"), "ok", signal)).toEqual(
      refused("next", "it may not answer that"),
    );
  });

  it("P10: can be given up in any phase, and works on in another thread", async () => {
    const { open } = await made();
    const run = await open();
    expect(await run.checkGate(at("make"), signal)).toEqual(ok("proceed"));
    const giveUp = new AbortController();
    const slow = run.setup(at("slow"), giveUp.signal);
    giveUp.abort();
    expect(await slow).toMatchObject({ refusal: { code: "workflow_failed" } });
    expect(await run.checkGate(at("make"), signal)).toEqual(ok("proceed"));
  });

  it("keeps the version that it began with, for as long as its operator trusts it", async () => {
    const { own, modules, host, trust, find } = await made();
    const { text } = await find();
    writeFileSync(join(own, "index.js"), "export default () => ({ stages: [] });");
    const opened = await modules.open(text, host);
    expect(opened).toMatchObject({ ok: true });
    await trust.remove("flow");
    expect(await modules.open(text, host)).toMatchObject({
      refusal: { code: "workflow_untrusted" },
    });
  });

  it.each([
    ["no stages", "({ stages: [] })", "there are no stages"],
    ["an unknown field", '({ stages: [{ id: "a", body: "b", nxt: 1 }] })', "no such field"],
    ["two of one id", '({ stages: [{ id: "a", body: "b" }, { id: "a", body: "b" }] })', "another"],
    ["an unknown entry", '({ entry: "x", stages: [{ id: "a", body: "b" }] })', "no stage"],
    ["a cap below 1", '({ stages: [{ id: "a", body: "b", turnCap: 0 }] })', "from 1 to 1000"],
    ["an error", "{ throw new Error('broken') }", "broken"],
  ])("is refused for %s", async (_, answer, reason) => {
    const { modules, place } = await made(`export default () => ${answer};`);
    const found = await modules.find(place, null, "flow");
    expect(JSON.stringify(found)).toContain(reason);
    expect(found).toMatchObject({ ok: false });
  });
});
