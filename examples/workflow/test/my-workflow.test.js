import assert from "node:assert/strict";
import { test } from "node:test";
import { playWorkflow } from "fermata/workflow/testing";

const FILE = new URL("../my-workflow.yaml", import.meta.url);

const written = { result: { summary: "It is in NOTES.md" } };

test("writes, checks, and ends", async () => {
  const played = await playWorkflow(FILE, {
    input: "some notes",
    acts: { write: [written], check: [{ result: { verdict: "good" } }] },
  });
  assert.equal(played.end, "ended");
  assert.deepEqual(
    played.stages.map(({ stage }) => stage),
    ["write", "check"],
  );
});

test("tells the writer what was wrong, and goes back twice at most", async () => {
  const again = { result: { verdict: "again", problems: "no date" } };
  const played = await playWorkflow(FILE, {
    input: "some notes",
    acts: { write: [written, written, written], check: [again, again, again] },
  });
  assert.equal(played.stages.length, 6);
  assert.match(played.stages[2]?.told ?? "", /no date/);
});
