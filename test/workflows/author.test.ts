import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Operator } from "../extensions/operator.fixture.ts";

const SMALL = `name: small
description: One stage
stages:
  - id: only
    body: Do it.
`;

describe("fermata workflows list", () => {
  it("has the bundled ones, the operator's own, and why one cannot be started", async () => {
    const operator = new Operator();
    operator.write("home/workflows/small.yaml", SMALL);
    operator.write("home/workflows/broken.yaml", SMALL.replace("small", "broken").concat("x: 1"));
    operator.write("workspace/.fermata/workflows/fan-out.yaml", SMALL.replace("small", "fan-out"));
    const { exitCode, out } = await operator.fermata("workflows", "list");
    expect(exitCode).toBe(0);
    const rows = out.split("\n").map((line) => line.split(/ {2,}/).slice(0, 3));
    expect(rows.slice(0, 7)).toEqual([
      ["WORKFLOW", "FROM", "STATE"],
      ["broken", "home", "not usable"],
      ["fan-out", "bundled", "ready"],
      ["fan-out", "workspace", "not usable"],
      ["fix-until-green", "bundled", "ready"],
      ["plan-implement-review", "bundled", "ready"],
      ["small", "home", "ready"],
    ]);
    expect(out).toContain("line 6, column 1, x: there is no such field");
    expect(out).toContain("there is a bundled one of this name; give fan-out.yaml another");
  });

  it("P6: takes those of a workspace only as an operator trusts them", async () => {
    const operator = new Operator();
    const file = operator.write("workspace/.fermata/workflows/small.yaml", SMALL);
    const state = async () => {
      const { out } = await operator.fermata("workflows", "list", "--json");
      const found = JSON.parse(out).find(({ name }: { name: string }) => name === "small");
      return found.ready === true ? "ready" : found.fault.code;
    };
    expect(await state()).toBe("workflow_untrusted");
    const trusted = await operator.fermata("trust", file);
    expect(trusted.out).toMatch(/^trusted: workflow small, sha256 [0-9a-f]{64}$/);
    expect(await state()).toBe("ready");
    writeFileSync(file, SMALL.replace("Do it.", "Do something else."));
    expect(await state()).toBe("workflow_untrusted");
    expect((await operator.fermata("trust", "--list")).out).toMatch(/small\.yaml .* changed /);
    writeFileSync(file, SMALL);
    await operator.fermata("trust", "--remove", "small.yaml");
    expect(await state()).toBe("workflow_untrusted");
  });
});

describe("fermata workflows check", () => {
  it("says all that is wrong with line, column and what to do", async () => {
    const operator = new Operator();
    const text = `${SMALL}    turnCap: 0\n    next:\n      - to: only\n      - parallel: [other]\n`;
    operator.write("workspace/small.yaml", text);
    const { exitCode, out } = await operator.fermata("workflows", "check", "small.yaml");
    expect(exitCode).toBe(1);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^small\.yaml:6:5: stages\.0\.turnCap: .*\. What to do: correct it/),
      expect.stringMatching(/^small\.yaml:9:9: stages\.0\.next\.1: the rule above it is always/),
      expect.stringMatching(/^small\.yaml:9:9: stages\.0\.next\.1\.parallel: a group has two/),
      expect.stringMatching(/^small\.yaml:9:20: .*: there is no stage "other"\. What to do: name/),
    ]);
  });

  it("draws one that has no fault", async () => {
    const operator = new Operator();
    operator.write("workspace/small.yaml", SMALL);
    const text = await operator.fermata("workflows", "check", "small.yaml");
    expect(text.out).toBe("small: 1 stage, nothing is wrong\n\n  only\n    end");
    const drawn = await operator.fermata("workflows", "check", "small.yaml", "--mermaid");
    expect(drawn.out).toMatch(/^flowchart TD\n/);
  });

  it("says so of a file that is not there, or called otherwise", async () => {
    const operator = new Operator();
    operator.write("workspace/large.yaml", SMALL);
    const absent = await operator.fermata("workflows", "check", "none.yaml");
    expect(absent).toMatchObject({ exitCode: 1, out: expect.stringContaining("no such file") });
    const other = await operator.fermata("workflows", "check", "large.yaml");
    expect(other).toMatchObject({ exitCode: 1, out: expect.stringContaining('"name: large"') });
  });
});

describe("fermata workflows new", () => {
  it("writes a workflow that has no fault, and a test that passes", async () => {
    const operator = new Operator();
    const { exitCode, out } = await operator.fermata("workflows", "new", "notes");
    expect({ exitCode, files: out.split("\n") }).toEqual({
      exitCode: 0,
      files: ["notes/notes.yaml", "notes/package.json", "notes/test/notes.test.js"],
    });
    const file = join(operator.workspace, "notes/notes.yaml");
    expect(readFileSync(file, "utf8")).toMatch(/^name: notes$/m);
    expect((await operator.fermata("workflows", "check", file)).exitCode).toBe(0);
    const again = await operator.fermata("workflows", "new", "notes");
    expect(again).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining("there is something"),
    });
  });

  it("takes no name that a workflow cannot have", async () => {
    const { exitCode, err } = await new Operator().fermata("workflows", "new", "My Flow");
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: expect.stringContaining("small letters, digits and dashes"),
    });
  });
});
