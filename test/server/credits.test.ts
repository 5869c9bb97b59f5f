import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { ServeProcess } from "./serve.fixture.ts";

/** A micro-credit for each token, ten set aside for a turn. */
const PRICES = { agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } };

async function started(): Promise<ServeProcess> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-prices-"));
  const file = join(folder, "prices.json");
  writeFileSync(file, JSON.stringify(PRICES));
  const server = await ServeProcess.start({ flags: ["--prices", file] });
  onTestFinished(async () => {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  });
  return server;
}

async function asked(
  server: ServeProcess,
  method: string,
  path: string,
  body?: object,
): Promise<JsonObject> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return JSON.parse(await response.text());
}

/** Reads a session's stream until it says this. */
async function heard(server: ServeProcess, sessionId: unknown, words: string): Promise<void> {
  const response = await fetch(`${server.url}/session/${sessionId}/events`, {
    headers: { "last-event-id": "0" },
  });
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(words)) return;
  }
  expect.fail(`the stream ended before it said ${words}`);
}

/** What an agent tells of a model call, in the middle of a turn. */
const usage = { inputTokens: 15, outputTokens: 0 };
const content = { type: "text", text: "." };
const called = { sessionUpdate: "agent_message_chunk", content, _meta: { usage } };

describe("a server that is killed while a turn is paid for", () => {
  it("P5, P9: has the turn settled when it is back, and its balance adds up", async () => {
    const server = await started();
    await asked(server, "POST", "/credits/limit", { limit: "granted" });
    await asked(server, "POST", "/credits/grants", { amountMicro: 100, id: "g" });
    const { sessionId } = await asked(server, "POST", "/session", { sessionScope: "thread" });
    const text = `update ${JSON.stringify(called)}\nsleep 60000`;
    await asked(server, "POST", `/session/${sessionId}/prompt`, {
      prompt: [{ type: "text", text }],
    });
    await heard(server, sessionId, '"n":1,"amountMicro":10');
    expect(await asked(server, "GET", "/credits")).toMatchObject({
      openMicro: 20,
      availableMicro: 80,
    });
    await server.kill("SIGKILL");
    await server.restart();
    // The first request that opens the session settles the turn.
    await asked(server, "GET", `/session/${sessionId}/stats`);
    expect(await asked(server, "GET", "/credits")).toMatchObject({
      limit: "granted",
      availableMicro: 85,
      grantedMicro: 100,
      chargedMicro: 15,
      openMicro: 0,
      openTurns: 0,
      month: { chargedMicro: 15 },
      budgets: [],
    });
    const { entries } = await asked(server, "GET", "/credits/statement");
    expect(entries).toMatchObject([
      { kind: "grant", amountMicro: 100 },
      { kind: "reserve", n: 0, amountMicro: 10 },
      { kind: "reserve", n: 1, amountMicro: 10 },
      { kind: "charge", n: 0, amountMicro: 15 },
      { kind: "release", n: 0, amountMicro: 5 },
    ]);
  });

  it("P5, P9: has nothing reserved for a side question when it is back, unasked", async () => {
    const server = await started();
    await asked(server, "POST", "/credits/limit", { limit: "granted" });
    await asked(server, "POST", "/credits/grants", { amountMicro: 100, id: "g" });
    const { sessionId } = await asked(server, "POST", "/session", { sessionScope: "thread" });
    // After a stop in good order the session is at rest, and a side question leaves it there.
    await server.kill("SIGTERM");
    await server.restart();
    const question = { question: "sleep 60000" };
    const lost = asked(server, "POST", `/session/${sessionId}/btw`, question).catch(() => null);
    const openMicro = async () => (await asked(server, "GET", "/credits")).openMicro;
    await expect.poll(openMicro).toBe(10);
    await server.kill("SIGKILL");
    await lost;
    await server.restart();
    // No request opens the session, and the regular sweep comes a minute after the start.
    await expect.poll(openMicro).toBe(0);
  });
});
