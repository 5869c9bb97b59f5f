import { describe, expect, it } from "vitest";
import { WORKFLOW_FILE_BYTES_MAX } from "../../core/limits.ts";
import { nameFault, readWorkflowFile } from "./workflow-file.ts";

const SMALL = `name: small
description: One stage
stages:
  - id: only
    body: Do it.
`;

/** Line, column, field and reason of each fault. */
function faultsOf(text: string): readonly string[] {
  return readWorkflowFile(text).faults.map(({ line, column, field, reason }) => {
    return `${line}:${column} ${field}: ${reason}`;
  });
}

/** A workflow with these stages, from line 4 on. */
function staged(stages: string): string {
  return `name: small\ndescription: Some stages\nstages:\n${stages}`;
}

describe("the file of a workflow", () => {
  it("needs little, and has a default for all else", () => {
    const { declared, faults } = readWorkflowFile(SMALL);
    expect(faults).toEqual([]);
    expect(declared).toEqual({
      name: "small",
      description: "One stage",
      input: null,
      entry: null,
      stages: [
        {
          id: "only",
          name: null,
          body: "Do it.",
          run: null,
          gate: [],
          allowedTools: null,
          otherTools: "ask",
          completion: null,
          turnCap: 100,
          retry: { maxAttempts: 3, backoffMs: 0 },
          assert: [],
          next: [],
        },
      ],
    });
  });

  it("is of another version when a letter of it changes", () => {
    const { hash } = readWorkflowFile(SMALL);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(readWorkflowFile(SMALL).hash).toBe(hash);
    expect(readWorkflowFile(`${SMALL}\n`).hash).not.toBe(hash);
  });

  it("is called as the workflow in it", () => {
    expect(nameFault(SMALL, "small")).toBeNull();
    expect(nameFault(SMALL, "big")).toMatchObject({ line: 1, column: 7, field: "name" });
  });
});

describe("P10: what is no plain YAML is refused where it is", () => {
  const LAUGHS = "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n";

  it.each([
    ["an alias", LAUGHS, "2:8 : it is not plain YAML: it has an alias"],
    ["an anchor", SMALL.replace("One", "&one One"), "2:19 : it has an anchor (&)"],
    ["a key twice", `${SMALL}name: other\n`, "6:1 : it is not plain YAML: Map keys must be unique"],
    ["a tag", SMALL.replace("One stage", "!!js/function x"), "2:14 : it is not plain YAML: Unres"],
    ["a tab", "name: small\n\tdescription: x", "2:1 : it is not plain YAML: Tabs are not allowed"],
    ["two documents", `${SMALL}---\nname: b\n`, "6:1 : it is not plain YAML: Source contains mult"],
    ["nothing", "", "1:1 : it has no fields"],
    ["a list", "- a", "1:1 : it has no fields"],
    ["a key that is no text", "? [a]\n: b", "1:3 : it is not plain YAML: With stringKeys"],
    ["an open bracket", "stages: [", "1:10 : it is not plain YAML: Flow sequence"],
  ])("%s", (_, text, fault) => {
    const [first = ""] = faultsOf(text);
    expect(first.slice(0, fault.length)).toBe(fault);
  });

  it("a huge file, without reading it", () => {
    const text = `${SMALL}# ${"x".repeat(WORKFLOW_FILE_BYTES_MAX)}`;
    expect(faultsOf(text)[0]).toMatch(/^1:1 : it has \d+ bytes/);
  });

  it("what is nested without end", () => {
    expect(faultsOf("[".repeat(30_000))[0]).toMatch(/^1:\d+ : it is not plain YAML: it is nested/);
  });
});

describe("the fields", () => {
  it("are all judged at once, each with line and column", () => {
    const text = `name: Small One
discription: No
stages:
  - id: a
    body: ""
    turnCap: 0
  - id: a
    body: Say \${result.x}
    retry: { maxAttempts: 11, backoffMs: -1 }
    next:
      - to: b
      - verdict: ok
entry: c
`;
    expect(faultsOf(text)).toEqual([
      "1:1 name: it must have small letters, digits and dashes, at most 64",
      "1:1 description: it is missing (string)",
      '2:1 discription: there is no such field (did you mean "description"?)',
      "5:5 stages.0.body: it is empty",
      "6:5 stages.0.turnCap: it must be a whole number from 1 to 1000",
      '7:5 stages.1.id: there is another stage "a"',
      '8:5 stages.1.body: ${result.x}: nothing is called "result" (did you mean "results"?)',
      "9:14 stages.1.retry.maxAttempts: it must be a whole number from 1 to 10",
      "9:31 stages.1.retry.backoffMs: it must be a whole number from 0 to 600000",
      '11:9 stages.1.next.0.to: there is no stage "b"',
      "12:9 stages.1.next.1.verdict: there is no such field here",
      '13:1 entry: there is no stage "c"',
    ]);
  });

  it("say what is missing", () => {
    expect(faultsOf("name: small")).toEqual([
      "1:1 description: it is missing (string)",
      "1:1 stages: it is missing (array)",
    ]);
    expect(faultsOf(staged("  []"))).toEqual(["3:1 stages: there are no stages"]);
  });

  it("say what to do about each", () => {
    const { faults } = readWorkflowFile(staged("  - id: a\n    body: b\n    turnCap: 0\n"));
    expect(faults).toEqual([
      {
        line: 6,
        column: 5,
        field: "stages.0.turnCap",
        reason: "it must be a whole number from 1 to 1000",
        remedy: expect.stringContaining("docs/workflows.md"),
      },
    ]);
  });
});

describe("completions", () => {
  const withSchema = (schema: string) =>
    faultsOf(staged(`  - id: a\n    body: b\n    completion:\n      schema: ${schema}\n`));

  it("have a schema of an object, with keywords that are kept", () => {
    expect(withSchema("{ type: object, properties: { x: { type: string } } }")).toEqual([]);
    expect(withSchema("{ type: string }")).toEqual([
      "7:7 stages.0.completion.schema: it must be of the type object",
    ]);
    expect(withSchema("{ type: object, properties: { x: { pattern: a } } }")).toEqual([
      "7:50 stages.0.completion.schema.properties.x.pattern: there is no such keyword here",
    ]);
    expect(withSchema("{ type: objekt }")).toEqual([
      "7:17 stages.0.completion.schema.type: the keyword does not take this value",
    ]);
    expect(withSchema("none")).toEqual(["7:7 stages.0.completion.schema: it must be an object"]);
  });
});
