import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { declarationSchema } from "../../src/extension/workflow/declaration.ts";
import { playWorkflow } from "../../src/extension/workflow/testing.ts";
import { readWorkflowFile } from "../../src/extension/workflow/workflow-file.ts";
import { readText } from "../house/files.ts";

const NAMES = readdirSync(new URL("../../workflows", import.meta.url))
  .filter((file) => file.endsWith(".yaml"))
  .map((file) => file.replace(".yaml", ""));

const fileOf = (name: string) => new URL(`../../workflows/${name}.yaml`, import.meta.url);

describe("the bundled workflows", () => {
  it("are these", () => {
    expect(NAMES).toEqual(["fan-out", "fix-until-green", "plan-implement-review"]);
  });

  it.each(NAMES)("%s has no fault, and the name of its file", (name) => {
    const { declared, faults } = readWorkflowFile(readText(`workflows/${name}.yaml`));
    expect(faults).toEqual([]);
    expect(declared?.name).toBe(name);
  });
});

describe("workflows/workflow.schema.json", () => {
  it("is what a declared workflow is read by; node scripts/workflow-schema.ts writes it", () => {
    expect(JSON.parse(readText("workflows/workflow.schema.json"))).toEqual(declarationSchema());
  });
});

describe("plan-implement-review", () => {
  const plan = { goal: "A flag", steps: ["main.ts: add it"], check: "npm test" };
  const done = { summary: "Added", files: ["main.ts"], checked: "npm test passes" };
  const revise = { result: { verdict: "revise", findings: ["main.ts: no test"] } };
  const play = (...reviews: readonly object[]) =>
    playWorkflow(fileOf("plan-implement-review"), {
      input: "Add --json",
      acts: {
        plan: [{ result: plan }],
        implement: reviews.map(() => ({ result: done })),
        review: reviews.map((result) => ({ result: { ...result } })),
      },
    });

  it("plans, implements and reviews, each told what it needs", async () => {
    const { end, stages } = await play({ verdict: "pass", findings: [] });
    expect(end).toBe("ended");
    expect(stages.map(({ stage }) => stage)).toEqual(["plan", "implement", "review"]);
    const [first, second, third] = stages.map(({ told }) => told ?? "");
    expect(first).toContain("Add --json");
    expect(second).toContain('The steps: ["main.ts: add it"]');
    expect(second).toContain("this is the first attempt");
    expect(third).toContain("What was done: Added");
  });

  it("goes back with what the review found, twice at most, and then asks a person", async () => {
    const { end, reason, stages } = await play(revise.result, revise.result, revise.result);
    expect(end).toBe("paused");
    expect(reason).toContain("main.ts: no test");
    expect(stages.map(({ stage }) => stage)).toEqual([
      ...["plan", "implement", "review", "implement", "review", "implement", "review"],
    ]);
    expect(stages[3]?.told).toContain('review of your last attempt found: ["main.ts: no test"]');
  });
});

describe("fan-out", () => {
  const tasks = { first: "Read the docs", second: "Read the code", third: "Read the tests" };
  const found = (answer: string) => ({
    result: { answer, findings: [`${answer}.ts:1`], confidence: "high" },
  });

  it("gives each explorer its own task, and the comparison all answers", async () => {
    const { end, stages } = await playWorkflow(fileOf("fan-out"), {
      input: "Why is it slow?",
      acts: {
        split: [{ result: tasks }],
        "explore-first": [found("docs")],
        "explore-second": [found("code")],
        "explore-third": [found("tests")],
        compare: [{ result: { answer: "The disk", reasons: ["code.ts:1"] } }],
      },
    });
    expect(end).toBe("ended");
    const told = new Map(stages.map(({ stage, told }) => [stage, told ?? ""]));
    expect(told.get("explore-second")).toContain("Your own task: Read the code");
    expect(told.get("explore-second")).not.toContain("Read the docs");
    for (const place of ["docs.ts:1", "code.ts:1", "tests.ts:1"]) {
      expect(told.get("compare")).toContain(place);
    }
  });
});

describe("fix-until-green", () => {
  const play = (...exitCodes: readonly number[]) => {
    const left = [...exitCodes];
    return playWorkflow(fileOf("fix-until-green"), {
      input: "npm test",
      acts: { fix: exitCodes.map((_, at) => ({ text: `Round ${at + 1}` })) },
      run: (command) => ({ exitCode: left.shift() ?? 1, output: `${command} said so` }),
    });
  };

  it("does nothing where the command succeeds", async () => {
    const { end, stages } = await play(0);
    expect(end).toBe("ended");
    expect(stages).toEqual([{ stage: "fix", attempts: 1, outcome: "skipped", told: null }]);
  });

  it("tells what failed, and what was tried, until it succeeds", async () => {
    const { end, stages } = await play(1, 2, 0);
    expect(end).toBe("ended");
    expect(stages.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "skipped"]);
    expect(stages[0]?.told).toContain("npm test said so");
    expect(stages[1]?.told).toContain("exit code 2");
    expect(stages[1]?.told).toContain("Round 1");
  });

  it("P10: tries five times, looks once more, and then asks a person", async () => {
    const { end, reason, stages } = await play(1, 1, 1, 1, 1, 1);
    expect(end).toBe("paused");
    expect(reason).toContain("npm test said so");
    expect(stages.map(({ outcome }) => outcome)).toEqual([
      ...["ok", "ok", "ok", "ok", "ok", "skipped"],
    ]);
  });
});
