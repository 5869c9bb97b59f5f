import { describe, expect, it } from "vitest";
import { placeholdersIn, render } from "./render.ts";

const facts = {
  input: "fix it",
  attempt: 2,
  ctx: { files: ["a", "b"], empty: null },
  results: { plan: { steps: 3, note: "say ${input}" } },
};

describe("render", () => {
  it("fills places with what is known", () => {
    const text = "${input}: ${results.plan.steps} steps, ${ctx.files}, ${ctx.files.1}, ${attempt}";
    expect(render(text, facts, 100)).toEqual({ text: 'fix it: 3 steps, ["a","b"], b, 2' });
  });

  it("takes what follows a bar where nothing is known", () => {
    const text = "${results.review.findings|none yet} ${ctx.empty|} ${input|never}";
    expect(render(text, facts, 100)).toEqual({ text: "none yet  fix it" });
  });

  it("never looks into a value for places", () => {
    expect(render("${results.plan.note}", facts, 100)).toEqual({ text: "say ${input}" });
  });

  it("names the first place for which nothing is known", () => {
    const text = "${ctx.none} ${other}";
    expect(render(text, facts, 100)).toEqual({ unresolved: "${ctx.none}" });
    expect(render("${ctx.toString}", facts, 100)).toEqual({ unresolved: "${ctx.toString}" });
    expect(render("${input.length}", facts, 100)).toEqual({ unresolved: "${input.length}" });
  });

  it("P10: stops where the text would become too long", () => {
    const long = { input: "x".repeat(65_536) };
    const body = "${input}".repeat(16_384 / 8);
    expect(render(body, long, 262_144)).toEqual({ tooLong: 262_144 });
    expect(render(body.repeat(8), long, 262_144)).toEqual({ tooLong: 262_144 });
    expect(render("${input}", facts, 6)).toEqual({ text: "fix it" });
    expect(render("${input}!", facts, 6)).toEqual({ tooLong: 6 });
    expect(render("!${input}", facts, 6)).toEqual({ tooLong: 6 });
  });

  it("leaves all else as it is", () => {
    expect(render("$5 $& ${ } {input}", { " ": 1 }, 100)).toEqual({ unresolved: "${ }" });
    expect(render("$5 $& $$ {input} $input", facts, 100)).toEqual({
      text: "$5 $& $$ {input} $input",
    });
  });
});

describe("placeholdersIn", () => {
  it("gives all places with their fallbacks", () => {
    expect(placeholdersIn("${a.b} and ${ c | d}")).toEqual([
      { path: ["a", "b"], fallback: null },
      { path: ["c"], fallback: " d" },
    ]);
  });
});
