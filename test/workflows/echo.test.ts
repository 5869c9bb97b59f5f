// Each bundled workflow on a real server with `echo`. Echo repeats what it is told, and so what the
// words after the name have in a fence: with that it completes each stage.

import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { Talk } from "../server/talk.fixture.ts";

/** The stages that ended, in their order, each with its outcome. */
function stagesIn(log: string): readonly string[] {
  const ended = log.matchAll(/"type":"stage_ended","data":(\{[^\n]*?\})[,}]/g);
  return [...ended].map(([, data = ""]) => {
    const [, stages = ""] = /"stages":\["([^\]]+)"\]/.exec(data) ?? [];
    const [, outcome = ""] = /"outcome":"(\w+)"/.exec(data) ?? [];
    return `${stages.replaceAll('","', "+")} ${outcome}`;
  });
}

const fenced = (result: object) => `The wish\n\`\`\`json\n${JSON.stringify(result)}\n\`\`\``;

describe("with echo", { timeout: 240_000 }, () => {
  const server = sharedServer({ flags: ["--enable-session-shell", "--token", "secret"] });

  const started = async (name: string, words: string, until: string) => {
    const talk = await Talk.begun(server());
    return { talk, log: await talk.prompt(until, `/workflow start ${name} ${words}`) };
  };

  it("plan-implement-review plans, implements, reviews and ends", async () => {
    const all = {
      ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
      ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
      ...{ verdict: "pass", findings: [] },
    };
    const { log } = await started("plan-implement-review", fenced(all), "workflow_ended");
    expect(stagesIn(log)).toEqual(["plan ok", "implement ok", "review ok"]);
  });

  it("plan-implement-review goes back twice, and then waits for a person", async () => {
    const all = {
      ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
      ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
      ...{ verdict: "revise", findings: ["no test"] },
    };
    const { log } = await started("plan-implement-review", fenced(all), "third review");
    expect(stagesIn(log)).toEqual([
      ...["plan ok", "implement ok", "review ok", "implement ok", "review ok"],
      ...["implement ok", "review ok"],
    ]);
  });

  it("fan-out explores in one turn, and compares", async () => {
    const all = {
      ...{ first: "Docs", second: "Code", third: "Tests", confidence: "low" },
      ...{ answer: "The disk", findings: ["a.ts:1"], reasons: ["a.ts:1"] },
    };
    const { log } = await started("fan-out", fenced(all), "workflow_ended");
    const ended = stagesIn(log);
    expect(ended.at(0)).toBe("split ok");
    expect(ended.at(-1)).toBe("compare ok");
    expect(ended.join()).toContain("explore-first+explore-second+explore-third ok");
  });

  it("fix-until-green runs the command before each round, until it succeeds", async () => {
    const command = "test -e green || { touch green; echo still red; exit 1; }";
    const { log } = await started("fix-until-green", command, "workflow_ended");
    expect(stagesIn(log)).toEqual(["fix ok", "fix skipped"]);
    expect(log).toContain("still red");
  });
});
