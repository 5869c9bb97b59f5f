import { describe, expect, it, onTestFinished } from "vitest";
import { type ServeOptions, ServeProcess } from "./serve.fixture.ts";

const SESSIONS = 12;
const HEAP_MB = 256;

/** Says 25 MB in chunks of 4 KB, and then waits to be stopped. */
const FLOOD = "chunks 6400 4000\nhang";

async function startSmall(options: ServeOptions = {}): Promise<ServeProcess> {
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` };
  const server = await ServeProcess.start({ ...options, env });
  onTestFinished(() => server.end());
  return server;
}

async function post(server: ServeProcess, path: string, body: object) {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
  return Object(answer);
}

/** Sessions that flood, and what each of their prompts comes to. */
async function flooded(server: ServeProcess) {
  const ids: string[] = [];
  for (let n = 0; n < SESSIONS; n += 1) {
    const made = await post(server, "/session", { sessionScope: "thread" });
    ids.push(String(made.sessionId));
  }
  const prompt = [{ type: "text", text: FLOOD }];
  const admitted = await Promise.all(
    ids.map((id) => post(server, `/session/${id}/prompt`, { prompt })),
  );
  return ids.map((id, index) => ({ id, promptId: String(admitted[index]?.promptId) }));
}

async function stateOf(server: ServeProcess, { id, promptId }: { id: string; promptId: string }) {
  const response = await fetch(`${server.url}/session/${id}/turns/${promptId}`);
  return Object(await response.json());
}

describe("P10: agents that flood a server with a small heap", () => {
  it("do not end it: the largest turns fail, and a quiet session goes on", async () => {
    const server = await startSmall();
    const turns = await flooded(server);
    const failed = async () => {
      const states = await Promise.all(turns.map((turn) => stateOf(server, turn)));
      return states.filter(({ state }) => state === "error" || state === "failed").length;
    };
    await expect.poll(failed, { timeout: 90_000, interval: 250 }).toBe(SESSIONS);
    const quiet = await post(server, "/session", { sessionScope: "thread" });
    const prompt = [{ type: "text", text: "say hello" }];
    const { promptId } = await post(server, `/session/${quiet.sessionId}/prompt`, { prompt });
    const turn = { id: String(quiet.sessionId), promptId: String(promptId) };
    await expect
      .poll(async () => (await stateOf(server, turn)).state, { timeout: 30_000 })
      .toBe("completed");
    expect(await server.kill("SIGTERM")).toBe(0);
  }, 180_000);

  it("do not end its drain: it exits with 0", async () => {
    const server = await startSmall();
    await flooded(server);
    await expect
      .poll(() => (server.said.match(/turn stopped: memory/g) ?? []).length, { timeout: 60_000 })
      .toBeGreaterThan(0);
    expect(await server.kill("SIGTERM")).toBe(0);
  }, 180_000);
});
