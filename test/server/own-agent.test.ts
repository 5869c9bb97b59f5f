// The agent in docs/agents.md is what strangers begin with: it is run as it stands there.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { readText } from "../house/files.ts";
import { sharedServer } from "./serve.fixture.ts";

const [, example = ""] =
  /```js\n(\/\/ my-agent\.mjs\n.*?)```/s.exec(readText("docs/agents.md")) ?? [];

const folder = mkdtempSync(join(tmpdir(), "fermata-own-agent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const program = join(folder, "my-agent.mjs");
writeFileSync(program, example);

const command = { command: process.execPath, args: [program] };
const server = sharedServer({
  flags: ["--agent", "mine"],
  agents: { mine: { ...command, ask: "default" }, unsaid: command },
});

async function ask(method: string, path: string, body?: object): Promise<JsonObject> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server().url}${path}`, { method, headers, ...sent });
  const read: unknown = await answer.json().catch(() => ({}));
  return isObject(read) ? read : {};
}

/** A turn in a new session, in which the one ask is answered so. */
async function turn(text: string, optionId: string): Promise<JsonObject> {
  const { sessionId } = await ask("POST", "/session", { sessionScope: "thread" });
  const path = `/session/${sessionId}`;
  const { promptId } = await ask("POST", `${path}/prompt`, { prompt: [{ type: "text", text }] });
  const asks = async () => (await ask("GET", `${path}/approvals`)).asks;
  await expect.poll(asks).toHaveLength(1);
  const [{ requestId }] = Object(await asks());
  const outcome = { outcome: "selected", optionId };
  await ask("POST", `${path}/permission/${requestId}`, { outcome });
  const done = () => ask("GET", `${path}/turns/${promptId}`);
  await expect.poll(async () => (await done()).state).toBe("completed");
  return done();
}

describe("the agent of docs/agents.md", () => {
  it("is there, and is not long", () => {
    expect(example.split("\n").length).toBeGreaterThan(20);
    expect(example.split("\n").length).toBeLessThan(50);
  });

  it("asks, and acts if it may", async () => {
    expect(await turn("hello", "yes")).toMatchObject({ resultText: "HELLO" });
  });

  it("P2: does not act if it may not", async () => {
    expect(await turn("hello", "no")).toMatchObject({ resultText: "As you like." });
  });

  it("P2: is not known to ask without a word of its profile", async () => {
    const made = (agent: string) => ask("POST", "/session", { sessionScope: "thread", agent });
    expect((await made("unsaid")).asking).toMatchObject({ how: "unknown" });
    expect((await made("mine")).asking).toBeUndefined();
  });
});
