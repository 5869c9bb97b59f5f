// A session of a real server is branched while a workflow is at work in it.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import { Talk } from "../server/talk.fixture.ts";

/** Between two attempts it is at work without a turn, which a branch would have to wait for. */
const FLOW = `
name: slow-steps
description: The second stage fails, and is tried again in ten minutes
stages:
  - id: first
    body: say one
  - id: second
    body: fail -32603 not yet
    retry: { maxAttempts: 3, backoffMs: 600000 }
`;

function prepare({ home }: ServeProcess) {
  mkdirSync(join(home, "workflows"));
  writeFileSync(join(home, "workflows", "slow-steps.yaml"), FLOW);
}

const server = sharedServer({ prepare });

it("P6: a branch has no workflow and misses none, also after kill -9", async () => {
  const talk = await Talk.begun(server());
  const told = await talk.prompt('"type":"turn_error"', "/workflow start slow-steps");
  expect(told).toContain('"outcome":"retry"');
  const { sessionId } = await talk.call("POST", "/branch", {});
  const branch = new Talk(server(), String(sessionId));
  for (const _ of ["as it was made", "as the next server finds it"]) {
    const loaded = await branch.call("POST", "/load", {});
    expect(JSON.stringify(loaded)).toContain('"text":"one"');
    const shown = await branch.prompt("turn_complete", "/workflow status");
    expect(shown).toContain("This session has no workflow.");
    const log = await branch.until("This session has no workflow.", 0);
    expect(log).toContain("SessionResumeStarted");
    expect(log).not.toContain("workflow.slow-steps");
    await server().kill("SIGKILL");
    await server().restart();
  }
  await talk.call("POST", "/load", {});
  const shown = await talk.prompt("turn_complete", "/workflow status");
  expect(shown).toContain("Workflow: slow-steps, running");
});
