import assert from "node:assert/strict";
import { test } from "node:test";
import { playSession } from "fermata/extension/testing";

const FOLDER = new URL("../my-extension", import.meta.url);

test("counts turns, also those before a resume", async () => {
  const first = await playSession(FOLDER);
  await first.turn("Hello");
  const session = await first.resume();
  await session.turn("Hello again");
  assert.deepEqual(session.slot, { version: "1.0.0", value: { turns: 2 } });
  await session.end();
});

test("has people asked about calls with the word", async () => {
  const session = await playSession(FOLDER, { config: { word: "prod" } });
  const call = { toolCallId: "1", kind: "execute", paths: [], rawInput: {} };
  const said = (title: string) => session.hook("before_tool_call", { ...call, title });
  assert.deepEqual(await said("deploy to prod"), {
    verdict: "ask",
    reason: 'there is "prod" in it',
  });
  assert.deepEqual(await said("deploy to test"), { verdict: "pass" });
  await session.end();
});
