import { describe, expect, it } from "vitest";
import { drawMermaid, drawText } from "./drawing.ts";
import { planOf } from "./plan.ts";
import { readWorkflowFile } from "./workflow-file.ts";

const TEXT = `
name: some
description: Some stages
stages:
  - id: look
    name: 'Look "<b>" #1'
    body: Look.
    run: npm test
    next:
      - { parallel: [one, two], join: weigh }
  - { id: one, body: One. }
  - { id: two, body: Two. }
  - id: weigh
    body: Weigh.
    completion: { schema: { type: object, properties: { verdict: { type: string } } } }
    next:
      - { when: { result.verdict: again }, atMost: 2, to: look }
      - { when: { result.verdict: [a, b], attempt: 1 }, pause: Look at it }
`;

const { declared } = readWorkflowFile(TEXT);
if (declared === null) throw new Error("it is not valid");
const plan = planOf(declared);

describe("a workflow as text", () => {
  it("has each stage with what may follow", () => {
    expect(drawText(plan)).toBe(
      [
        '  look: Look "<b>" #1 (runs npm test)',
        "    one + two, at the same time, then weigh",
        "  one",
        "  two",
        "  weigh",
        "    verdict is again, at most 2 times: look",
        "    verdict is a or b and attempt is 1: wait for a person",
        "    else: end",
      ].join("\n"),
    );
  });

  it("has marks for where it stands", () => {
    const lines = drawText(plan, { current: ["one", "two"], visits: { look: 2, weigh: 1 } });
    expect(lines.split("\n").filter((line) => !line.startsWith("   "))).toEqual([
      'x look: Look "<b>" #1 (runs npm test) (2 times)',
      "> one",
      "> two",
      "x weigh",
    ]);
  });
});

describe("a workflow as a Mermaid flowchart", () => {
  it("has arrows for all ways, and names that can break nothing", () => {
    expect(drawMermaid(plan)).toBe(`flowchart TD
  begin((start))
  s0["Look #34;#60;b#62;#34; #35;1"]
  s1["one"]
  s2["two"]
  s3["weigh"]
  done((end))
  person{{a person decides}}
  begin --> s0
  s0 ==> s1
  s1 ==> s3
  s0 ==> s2
  s2 ==> s3
  s3 -->|"verdict is again, at most 2 times"| s0
  s3 -.->|"verdict is a or b and attempt is 1"| person
  s3 --> done
`);
  });

  it("shows where it stands", () => {
    const drawn = drawMermaid(plan, { current: ["one"], visits: { look: 1 } });
    expect(drawn).toContain("  class s1 current\n  class s0 visited\n  classDef current");
  });

  it("has no ways where code alone decides", () => {
    const drawn = drawMermaid({ ...plan, paths: null });
    expect(drawn).not.toContain("done");
    expect(drawn.match(/-->/g)).toHaveLength(1);
  });
});
