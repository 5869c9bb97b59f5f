import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const PLAYER = fileURLToPath(new URL("play-trace.ts", import.meta.url));
const PATIENCE_MS = 30_000;

const SET_MODE = { id: 2, method: "session/set_mode", params: {} };
const MODE_SET = { id: 2, result: { recorded: true } };

/** A conversation in which both sides count alike: the prompt and the ask are 3. */
const TRACE = [
  ["server", { id: 0, method: "initialize", params: {} }],
  ["agent", { id: 0, result: { protocolVersion: 1 } }],
  ["server", { id: 1, method: "session/new", params: { cwd: "/workspace" } }],
  ["agent", { id: 1, result: { sessionId: "session-1" } }],
  ["server", SET_MODE],
  ["agent", MODE_SET],
  ["server", { id: 3, method: "session/prompt", params: {} }],
  ["agent", { id: 3, method: "session/request_permission", params: { path: "/workspace/a" } }],
  ["server", { id: 3, result: { outcome: {} } }],
  ["agent", { id: 3, result: { stopReason: "end_turn" } }],
] as const;

class Played {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: NodeJS.AsyncIterator<string>;
  #words = "";

  constructor(waitMs: number) {
    const folder = mkdtempSync(join(tmpdir(), "fermata-player-"));
    const path = join(folder, "trace.jsonl");
    const lines = TRACE.map(([from, message]) => ({ from, message }));
    const all = [{ check: "output" }, ...lines].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(path, all.join(""));
    const counted = join(folder, "counted");
    this.#child = spawn(process.execPath, [PLAYER, path, "output", counted, `${waitMs}`]);
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#words += text;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    onTestFinished(() => {
      if (this.#child.pid !== undefined) this.#child.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    });
  }

  /** What it says next, after these words. */
  async next(...sent: readonly object[]): Promise<unknown> {
    for (const message of sent) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    const { value } = await this.#lines.next();
    return JSON.parse(`${value}`);
  }

  /** Its last words, when it has ended by itself. */
  async ended(): Promise<string> {
    await once(this.#child, "close", { signal: AbortSignal.timeout(PATIENCE_MS) });
    return this.#words;
  }
}

async function begun(): Promise<Played> {
  const played = new Played(PATIENCE_MS);
  const answer = await played.next({ id: 10, method: "initialize", params: {} });
  expect(answer).toEqual({ id: 10, result: { protocolVersion: 1 } });
  return played;
}

const NEW = { id: 11, method: "session/new", params: { cwd: "/real" } };
const PROMPT = { id: 12, method: "session/prompt", params: {} };

describe("a played trace", () => {
  it("goes on where the server does not send a call beside the conversation", async () => {
    const played = await begun();
    expect(await played.next(NEW)).toEqual({ id: 11, result: { sessionId: "session-1" } });
    const asked = await played.next(PROMPT);
    expect(asked).toMatchObject({ id: 3, method: "session/request_permission" });
    expect(asked).toMatchObject({ params: { path: "/real/a" } });
    const answer = await played.next({ id: 3, result: {} });
    expect(answer).toEqual({ id: 12, result: { stopReason: "end_turn" } });
  });

  it.each([
    ["session/set_mode", { recorded: true }],
    ["session/set_config_option", {}],
    ["authenticate", {}],
    ["session/close", {}],
  ])("answers %s whenever it comes", async (method, result) => {
    const played = await begun();
    expect(await played.next({ id: 20, method })).toMatchObject({ id: 20, result });
    await played.next(NEW);
    expect(await played.next({ id: 21, method })).toMatchObject({ id: 21, result });
  });

  it("refuses a conversation that it does not have, and says what it waits for", async () => {
    const played = await begun();
    const refused = await played.next({ id: 30, method: "session/load", params: {} });
    const message = expect.stringMatching(/waits for session\/new/);
    expect(refused).toMatchObject({ id: 30, error: { message } });
  });

  it("does not wait for ever, and says what it waited for", async () => {
    const played = new Played(1);
    expect(await played.ended()).toMatch(/output, process 1, line 1: waits for initialize/);
  });
});
