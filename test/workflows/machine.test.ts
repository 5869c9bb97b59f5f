// A workflow on a real server with `echo`, which is killed in stages and between them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import { Talk } from "../server/talk.fixture.ts";

const FLOW = `
name: three-steps
description: Three stages of echo
stages:
  - id: first
    body: say one
  - id: second
    body: |
      sleep 500
      say two
  - id: third
    body: say three
`;

function prepare({ home }: ServeProcess) {
  mkdirSync(join(home, "workflows"));
  writeFileSync(join(home, "workflows", "three-steps.yaml"), FLOW);
}

const times = (log: string, words: RegExp) => [...log.matchAll(words)].length;

describe("a workflow on a server that is killed", { timeout: 120_000 }, () => {
  const server = sharedServer({ prepare });

  it("does its stages in their order, and shows where it stands", async () => {
    const talk = await Talk.begun(server());
    await talk.prompt('"state":"ended"', "/workflow start three-steps");
    const shown = await talk.prompt("turn_complete", "/workflow status");
    expect(shown).toContain("Workflow: three-steps, ended");
    expect(shown).toContain("[x] first (ok)");
  });

  it("P2: goes on to the same end after kill -9 at every boundary", async () => {
    const talk = await Talk.begun(server());
    await talk.call("POST", "/prompt", {
      prompt: [{ type: "text", text: "/workflow start three-steps" }],
    });
    // What a kill comes too late for has happened by then, and the next one meets it elsewhere.
    const boundaries = [
      '"type":"workflow_attached"',
      '"stages":["first"],"attempt":',
      '"type":"stage_prompted"',
      '"outcome":"ok"',
      '"stages":["second"],"attempt":',
      '"stages":["third"],"attempt":',
    ];
    for (const boundary of boundaries) {
      await talk.until(boundary, 0);
      await server().kill("SIGKILL");
      await server().restart();
      await talk.call("POST", "/load", {});
    }
    const log = await talk.until('"type":"workflow_ended"', 0);
    const whole = `${log}${await talk.prompt("turn_complete", "say over")}`;
    for (const stage of ["first", "second", "third"]) {
      const done = new RegExp(`"stages":\\["${stage}"\\],"attempt":\\d+,"outcome":"ok"`, "g");
      expect(times(whole, done)).toBe(1);
    }
    const started = times(whole, /"type":"stage_started"/g);
    expect(times(whole, /"type":"stage_ended"/g)).toBe(started);
    const admitted = /"type":"prompt_admitted","data":\{[^{}]*"promptId":"([^"]+)"/g;
    expect(times(whole, admitted)).toBeGreaterThanOrEqual(started);
    for (const [, promptId] of whole.matchAll(admitted)) {
      const about = `"type":"turn_(?:complete|error)","data":\\{[^}]*"promptId":"${promptId}"`;
      expect(times(whole, new RegExp(about, "g"))).toBe(1);
    }
  });
});
