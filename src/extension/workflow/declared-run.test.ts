import { describe, expect, it } from "vitest";
import { fail, ok } from "../../core/result.ts";
import type { ActReport, StageExecution } from "./contract.ts";
import { DeclaredRun } from "./declared-run.ts";
import { readWorkflowFile } from "./workflow-file.ts";

const TEXT = `
name: some
description: Some stages
stages:
  - id: fix
    name: Fix it
    body: Do it.
    run: check \${input}
    gate:
      - { when: { ctx.run.exitCode: 0 }, verdict: skip }
      - { when: { ctx.run.exitCode: 75 }, verdict: retry }
    next:
      - { when: { outcome: skipped }, to: review }
      - { to: fix, atMost: 2 }
      - { pause: "Still red for \${input}: \${ctx.run.output}" }
  - id: review
    body: Review it.
    completion:
      schema:
        type: object
        required: [verdict]
        properties: { verdict: { type: string } }
    assert:
      - { when: { result.verdict: blocked }, verdict: fail }
    next:
      - { when: { result.verdict: split }, parallel: [one, two], join: last }
      - { when: { outcome: failed, result.verdict: blocked }, to: end }
  - { id: one, body: One. }
  - { id: two, body: Two. }
  - { id: last, body: "Last." }
`;

const AT: StageExecution = {
  executionId: "e1",
  stageId: "fix",
  attempt: 1,
  groupId: null,
  input: "it",
  ctx: {},
  results: {},
  visits: {},
};

const ACT: ActReport = { isCapHit: false, completion: null, text: "Done.", isSkipped: false };

function made(run = async (_: string) => ok({ exitCode: 1, output: "red" })) {
  const { declared } = readWorkflowFile(TEXT);
  if (declared === null) throw new Error("it is not valid");
  return new DeclaredRun(declared, { run });
}

const signal = new AbortController().signal;

describe("a declared workflow", () => {
  it("runs the command of a stage in Setup, and keeps how it went", async () => {
    const commands: string[] = [];
    const run = made(async (command) => {
      commands.push(command);
      return ok({ exitCode: 1, output: "red" });
    });
    expect(await run.setup(AT, signal)).toEqual(ok({ run: { exitCode: 1, output: "red" } }));
    expect(await run.setup({ ...AT, stageId: "review" }, signal)).toEqual(ok({}));
    expect(commands).toEqual(["check it"]);
  });

  it("P10: refuses a command that places make too long, and runs nothing", async () => {
    const run = made(async () => expect.fail());
    const refused = await run.setup({ ...AT, input: "x".repeat(32_768) }, signal);
    expect(JSON.stringify(refused)).toContain("longer than 32768 characters");
  });

  it("is refused where no command may run", async () => {
    const refused = fail("session_shell_disabled");
    const declared = readWorkflowFile(TEXT).declared;
    if (declared === null) throw new Error("it is not valid");
    const run = new DeclaredRun(declared, { run: async () => refused });
    expect(await run.setup(AT, signal)).toEqual(refused);
  });

  it("has the gate that its rules say", async () => {
    const gate = (exitCode: number) => made().checkGate({ ...AT, ctx: { run: { exitCode } } });
    expect(await gate(0)).toEqual(ok("skip"));
    expect(await gate(75)).toEqual(ok("retry"));
    expect(await gate(1)).toEqual(ok("proceed"));
  });

  it("tries a stage again whose agent has not done its part", async () => {
    const run = made();
    const review = { ...AT, stageId: "review" };
    const capped = { ...ACT, isCapHit: true };
    expect(await run.assert(AT, ACT)).toEqual(ok("ok"));
    expect(await run.assert(AT, capped)).toEqual(ok("retry"));
    expect(await run.assert(review, ACT)).toEqual(ok("retry"));
    const completed = (verdict: string) => ({ ...ACT, completion: { verdict } });
    expect(await run.assert(review, completed("pass"))).toEqual(ok("ok"));
    expect(await run.assert(review, completed("blocked"))).toEqual(ok("fail"));
  });

  it("comes to what was completed, else to the agent's last words", async () => {
    const run = made();
    expect(await run.exit(AT, ACT)).toEqual(ok("Done."));
    expect(await run.exit(AT, { ...ACT, completion: { a: 1 } })).toEqual(ok({ a: 1 }));
    expect(await run.exit(AT, { ...ACT, text: "", isSkipped: true })).toEqual(ok(null));
  });

  it("P10: goes back as often as a rule says, and then on to the next rule", async () => {
    const run = made();
    const nextAfter = (visits: number) => {
      const ctx = { run: { exitCode: 1, output: "red ${input}" } };
      return run.next({ ...AT, ctx, visits: { fix: visits } }, "ok");
    };
    const again = ok({ kind: "sequential", stages: ["fix"] });
    expect(await nextAfter(1)).toEqual(again);
    expect(await nextAfter(2)).toEqual(again);
    expect(await nextAfter(3)).toEqual(
      ok({ kind: "pause", reason: "Still red for it: red ${input}" }),
    );
  });

  it("goes on in the order of the file where no rule is met, to the end", async () => {
    const run = made();
    const nextAfter = (stageId: string, verdict: string) => {
      const results = { [stageId]: { verdict } };
      return run.next({ ...AT, stageId, results, visits: { [stageId]: 1 } }, "ok");
    };
    expect(await nextAfter("review", "pass")).toEqual(ok({ kind: "sequential", stages: ["last"] }));
    expect(await nextAfter("review", "split")).toEqual(
      ok({ kind: "parallel", stages: ["one", "two"], join: "last" }),
    );
    expect(await nextAfter("last", "pass")).toEqual(ok({ kind: "sequential", stages: [] }));
  });

  it("pauses after a stage that failed, but for a rule that says otherwise", async () => {
    const run = made();
    const nextAfter = (stageId: string, verdict: string) => {
      return run.next({ ...AT, stageId, results: { [stageId]: { verdict } } }, "failed");
    };
    const reason = 'The stage "Fix it" has failed.';
    expect(await nextAfter("fix", "")).toEqual(ok({ kind: "pause", reason }));
    expect(await nextAfter("review", "blocked")).toEqual(ok({ kind: "sequential", stages: [] }));
  });

  it("P6: takes up what it kept, and refuses what another version kept", async () => {
    const run = made();
    expect(await run.attach(null)).toEqual(ok({}));
    expect(await run.attach({ slotVersion: 1, ctx: { a: 1 } })).toEqual(ok({ a: 1 }));
    expect(await run.attach({ slotVersion: 2, ctx: {} })).toMatchObject({
      refusal: { code: "workflow_failed", details: { phase: "attach" } },
    });
  });
});
