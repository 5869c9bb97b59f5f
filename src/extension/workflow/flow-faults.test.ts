import { describe, expect, it } from "vitest";
import { readWorkflowFile } from "./workflow-file.ts";

/** Field and reason of each fault of a workflow with these stages. */
function faultsOf(stages: string, more = ""): readonly string[] {
  const text = `name: some\ndescription: Some stages\n${more}stages:\n${stages}`;
  return readWorkflowFile(text).faults.map(({ field, reason }) => `${field}: ${reason}`);
}

const stage = (id: string, more = "") => `  - id: ${id}\n    body: Do it.\n${more}`;
const next = (...rules: readonly string[]) =>
  `    next:\n${rules.map((rule) => `      - { ${rule} }\n`).join("")}`;

const VERDICT = `    completion:
      schema:
        type: object
        required: [verdict]
        properties:
          verdict: { type: string, enum: [pass, revise] }
          findings: { type: string }
`;

describe("what a rule leads to", () => {
  it("is one thing", () => {
    expect(faultsOf(stage("a", next("when: {}")))).toEqual(["stages.0.next.0: it leads nowhere"]);
    expect(faultsOf(stage("a", next("to: end, pause: Look")))).toEqual([
      "stages.0.next.0: it leads to several things at once",
    ]);
  });

  it("is there", () => {
    const text = stage("review", next("to: [reveiw, end]")) + stage("b");
    expect(faultsOf(text)).toEqual([
      'stages.0.next.0.to.0: there is no stage "reveiw" (did you mean "review"?)',
      'stages.0.next.0.to.1: there is no stage "end"',
    ]);
    expect(faultsOf(stage("end"))).toContain(
      "stages.0.id: no stage can be called end: that is where a workflow ends",
    );
  });

  it("is no group of one, of the same, or of what is not there", () => {
    const group = (parallel: string) => faultsOf(stage("a", next(parallel)) + stage("b"));
    expect(group("parallel: [b]")).toEqual([
      "stages.0.next.0.parallel: a group has two stages or more",
    ]);
    expect(group("parallel: []")).toEqual([
      "stages.0.next.0.parallel: a group has two stages or more",
    ]);
    expect(group("parallel: [b, b]")).toEqual([
      'stages.0.next.0.parallel.1: "b" is in the group already',
    ]);
    expect(group("parallel: [b, c], join: d")).toEqual([
      'stages.0.next.0.parallel.1: there is no stage "c"',
      'stages.0.next.0.join: there is no stage "d"',
    ]);
  });

  it("joins a group by a stage beside it", () => {
    const text = stage("a", next("parallel: [b, c], join: c")) + stage("b") + stage("c");
    expect(faultsOf(text)).toEqual(['stages.0.next.0.join: "c" is in the group itself']);
    expect(faultsOf(stage("a", next("to: end, join: a")))).toEqual([
      "stages.0.next.0.join: there is no group to join",
    ]);
  });

  it("is not below a rule that is always met", () => {
    expect(faultsOf(stage("a", next("to: end", "pause: Look")))).toEqual([
      "stages.0.next.1: the rule above it is always met",
    ]);
  });
});

describe("stages of a group", () => {
  const first = stage("a", next("parallel: [b, c], join: d"));

  it("have no rules of their own for what follows", () => {
    expect(faultsOf(first + stage("b", next("to: d")) + stage("c") + stage("d"))).toEqual([
      "stages.1.next: what follows a stage of a parallel group is the join of the group",
    ]);
  });

  it("do not begin by themselves", () => {
    const text = first + stage("b") + stage("c") + stage("d", next("to: b, atMost: 1"));
    expect(faultsOf(text)).toEqual([
      'stages.1.id: "b" is a stage of a parallel group, and begins by itself elsewhere',
    ]);
  });

  it("are passed over by the order of the file", () => {
    expect(faultsOf(first + stage("b") + stage("c") + stage("d"))).toEqual([]);
  });
});

describe("P10: a workflow ends", () => {
  it("by a bound on each way back", () => {
    const back = (bound: string) => {
      const rule = next(`when: { result.verdict: revise }, ${bound}to: b`);
      return faultsOf(stage("a") + stage("b") + stage("c", VERDICT + rule));
    };
    expect(back("")).toEqual(["stages.2.next: this could go on for ever: b -> c -> b"]);
    expect(back("atMost: 2, ")).toEqual([]);
  });

  it("also where a stage leads to itself, or to a list", () => {
    expect(faultsOf(stage("a", next("to: a")))).toEqual([
      "stages.0.next: this could go on for ever: a -> a",
    ]);
    expect(
      faultsOf(stage("a", next("to: [b, c]")) + stage("b") + stage("c", next("to: a"))),
    ).toEqual(["stages.2.next: this could go on for ever: a -> b -> c -> a"]);
  });

  it("and says so once of each circle", () => {
    const text =
      stage("a", next("when: { input: x }, to: c")) +
      stage("b", next("to: a")) +
      stage("c", next("to: d")) +
      stage("d", next("to: c"));
    expect(faultsOf(text)).toEqual([
      "stages.1.next: this could go on for ever: a -> b -> a",
      "stages.3.next: this could go on for ever: c -> d -> c",
    ]);
  });

  it("and each of its stages can be reached", () => {
    expect(faultsOf(stage("a", next("to: end")) + stage("b"))).toEqual([
      "stages.1.id: no way leads to this stage",
    ]);
    expect(faultsOf(stage("a") + stage("b"), "entry: b\n")).toEqual([
      "stages.0.id: no way leads to this stage",
    ]);
  });
});

describe("conditions", () => {
  const when = (condition: string, more = VERDICT) => {
    const faults = faultsOf(stage("a", `${more}${next(`when: { ${condition} }, to: end`)}`));
    return faults.map((fault) => fault.replace("stages.0.next.0.when.", ""));
  };

  it("look at facts that there are", () => {
    expect(when("result.verdict: [pass, revise], outcome: ok, input: x, attempt: 1")).toEqual([]);
    expect(when("verdict: pass")).toEqual(['verdict: nothing is called "verdict" here']);
    expect(when("result.verdikt: pass")).toEqual([
      'result.verdikt: its completion has no "verdikt" (did you mean "verdict"?)',
    ]);
    expect(when("results.b.x: 1")).toEqual(['results.b.x: there is no stage "b"']);
    expect(when("result.verdict: pass", "")).toEqual([
      'result.verdict: the stage "a" has no completion, so its result is a text',
    ]);
  });

  it("ask for values that there can be", () => {
    expect(when("result.verdict: passed")).toEqual([
      expect.stringContaining('it never has this value: it must be one of ["pass","revise"]'),
    ]);
    expect(when("outcome: done")).toEqual(['outcome: no stage ends as "done"']);
  });

  it("of a gate know nothing of what comes after it", () => {
    const gate = "    gate:\n      - { when: { result.x: 1 }, verdict: skip }\n";
    expect(faultsOf(stage("a", gate))).toEqual([
      'stages.0.gate.0.when.result.x: nothing is called "result" here (did you mean "results"?)',
    ]);
  });
});

describe("places", () => {
  const places = (body: string, more = "") =>
    faultsOf(`  - id: a\n    body: A\n${VERDICT}  - id: b\n    body: ${body}\n${more}`);

  it("are for what is known when the stage begins", () => {
    expect(places('"${input} ${attempt} ${visits.a} ${results.a.verdict} ${results.a}"')).toEqual(
      [],
    );
    expect(places("${task}")).toEqual(['stages.1.body: ${task}: nothing is called "task"']);
    expect(places("${results.c}")).toEqual(['stages.1.body: ${results.c}: there is no stage "c"']);
    expect(places("${results.a.verdct}")).toEqual([
      'stages.1.body: ${results.a.verdct}: its completion has no "verdct"' +
        ' (did you mean "verdict"?)',
    ]);
    expect(places("${ctx.run.output}")).toEqual([
      "stages.1.body: ${ctx.run.output}: this stage has no command",
    ]);
    expect(places("${ctx.notes}")).toEqual([
      "stages.1.body: ${ctx.notes}: nothing writes ctx.notes",
    ]);
    expect(places("${ctx.run.output}", "    run: npm test\n")).toEqual([]);
  });

  it("say what stands there if a stage may not have ended by then", () => {
    const text =
      `  - id: a\n    body: "\${results.b.findings}"\n` +
      stage("b", `${VERDICT}${next("when: { result.verdict: revise }, atMost: 1, to: a")}`);
    expect(faultsOf(text)).toEqual([
      'stages.0.body: ${results.b.findings}: the stage "b" may not have ended by then',
    ]);
    expect(faultsOf(text.replace("findings}", "findings|none yet}"))).toEqual([]);
  });

  it("of a group do not see each other, and its join sees them all", () => {
    const group = (ofC: string) =>
      stage("a", next("parallel: [b, c], join: d")) +
      stage("b") +
      `  - id: c\n    body: ${ofC}\n  - id: d\n    body: "\${results.b} \${results.c}"\n`;
    expect(faultsOf(group("C"))).toEqual([]);
    expect(faultsOf(group("${results.b}"))).toEqual([
      'stages.2.body: ${results.b}: the stage "b" may not have ended by then',
    ]);
  });

  it("know that a stage with a gate may have been skipped", () => {
    const gate = "    gate:\n      - { when: { input: x }, verdict: skip }\n";
    expect(faultsOf(`${stage("a", gate)}  - id: b\n    body: \${results.a}\n`)).toEqual([
      'stages.1.body: ${results.a}: the stage "a" may have been skipped by then',
    ]);
  });

  it("P11: put nothing that an agent says into a command", () => {
    expect(places("B", "    run: grep ${results.a.verdict} file\n")).toEqual([
      "stages.1.run: ${results.a.verdict}: a command can have ${input}, and nothing of an agent",
    ]);
    expect(places("B", "    run: echo $HOME ${input}\n")).toEqual([]);
  });
});
