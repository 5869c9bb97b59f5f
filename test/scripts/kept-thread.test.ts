import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { KeptThread } from "../../scripts/kept-thread.ts";

/** Says how often it was asked since it was loaded, where it runs, and what it was given. */
const PROGRAM = `
  import { parentPort, threadId, workerData } from "node:worker_threads";
  let asked = 0;
  parentPort.on("message", (word) => {
    asked += 1;
    if (word === "fail") throw new Error("it failed");
    const { ONE_WORD } = process.env;
    parentPort.postMessage({ asked, threadId, workerData, ONE_WORD });
    if (word === "end") parentPort.close();
  });
`;

function program(): URL {
  const folder = mkdtempSync(join(tmpdir(), "fermata-kept-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "program.mjs");
  writeFileSync(file, PROGRAM);
  return pathToFileURL(file);
}

async function answerOf(thread: KeptThread, word: string) {
  const answered = once(thread, "message");
  thread.postMessage(word);
  return (await answered)[0];
}

it("a program is loaded anew, with what it is given", async () => {
  const script = program();
  const first = new KeptThread(script, { workerData: "one" });
  const ended = once(first, "exit");
  await answerOf(first, "go");
  expect(await answerOf(first, "end")).toMatchObject({ asked: 2, workerData: "one" });
  await ended;
  vi.stubEnv("ONE_WORD", "as it is now");
  onTestFinished(() => void vi.unstubAllEnvs());
  const second = new KeptThread(script, { workerData: "two" });
  const gone = once(second, "exit");
  const answer = await answerOf(second, "end");
  expect(answer).toMatchObject({ asked: 1, workerData: "two", ONE_WORD: "as it is now" });
  await gone;
});

it("programs that run one after the other need few threads", async () => {
  const script = program();
  const threads = new Set<number>();
  for (let run = 0; run < 20; run += 1) {
    const thread = new KeptThread(script, { workerData: null });
    const gone = once(thread, "exit");
    threads.add((await answerOf(thread, "end")).threadId);
    await gone;
  }
  expect(threads.size).toBeLessThan(12);
});

it("programs that run at the same time have a thread each", async () => {
  const script = program();
  const both = [1, 2].map((workerData) => new KeptThread(script, { workerData }));
  const gone = both.map((thread) => once(thread, "exit"));
  const answers = await Promise.all(both.map((thread) => answerOf(thread, "end")));
  expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(2);
  await Promise.all(gone);
});

it("a program that fails takes its thread with it, and says why", async () => {
  const script = program();
  const thread = new KeptThread(script, { workerData: null });
  const { threadId } = await answerOf(thread, "go");
  const failed = once(thread, "error");
  const gone = new Promise<void>((resolve) => thread.once("exit", resolve));
  thread.postMessage("fail");
  expect((await failed)[0]).toMatchObject({ message: "it failed" });
  await gone;
  const next = new KeptThread(script, { workerData: null });
  const ended = once(next, "exit");
  expect((await answerOf(next, "end")).threadId).not.toBe(threadId);
  await ended;
});
