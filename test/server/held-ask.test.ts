// Asks against a server as a user has it, without tokens: they are held as long as people need.

import { expect, it } from "vitest";
import { sharedServer } from "./serve.fixture.ts";

const server = sharedServer({ flags: ["--agent", "echo", "--permission-policy", "designated"] });

const ASK = "ask kind=execute command=ls\nsay done";
const YES = { outcome: { outcome: "selected", optionId: "allow_once" } };

interface Answer {
  readonly status: number;
  readonly body: {
    readonly sessionId?: string;
    readonly status?: string;
    readonly asks?: readonly { readonly requestId: string }[];
  };
}

async function call(client: string | null, method: string, path: string, body?: object) {
  const response = await fetch(server().url + path, {
    method,
    headers: {
      "content-type": "application/json",
      ...(client !== null && { "x-qwen-client-id": client }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer: Answer = { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  return answer;
}

/** A session whose agent asks for the prompt of this client; with the ask as a list shows it. */
async function askedBy(client: string) {
  const made = await call(client, "POST", "/session", { sessionScope: "thread" });
  const path = `/session/${made.body.sessionId}`;
  const prompt = [{ type: "text", text: ASK }];
  expect((await call(client, "POST", `${path}/prompt`, { prompt })).status).toBe(202);
  const asks = async () => (await call(null, "GET", `${path}/approvals`)).body.asks ?? [];
  await expect.poll(async () => (await asks()).length, { timeout: 60_000 }).toBe(1);
  const [ask = expect.unreachable()] = await asks();
  const vote = (by: string | null) =>
    call(by, "POST", `${path}/permission/${ask.requestId}`, YES).then(({ status }) => status);
  const status = async () => (await call(null, "GET", `${path}/status`)).body.status;
  return { path, ask, asks, vote, status };
}

it("an ask has no deadline, and waits for the client of its prompt that is away", async () => {
  const { path, ask, asks, vote, status } = await askedBy("desk");
  expect(ask).toMatchObject({ deadline: null });
  expect(ask).not.toHaveProperty("owners");
  await call("phone", "POST", `${path}/load`, {});
  expect(await vote("phone")).toBe(403);
  expect([await status(), await asks()]).toEqual(["waiting", [ask]]);
  expect(await vote("desk")).toBe(200);
  await expect.poll(status, { timeout: 60_000 }).toBe("ready");
});

it("P5: once its client has left, the operator answers it from any other", async () => {
  const { path, ask, asks, vote, status } = await askedBy("desk");
  expect((await call("desk", "POST", `${path}/detach`)).status).toBe(204);
  // No client is attached any more, and the session holds its ask.
  expect([await status(), await asks()]).toEqual(["waiting", [{ ...ask, owners: true }]]);
  await call("tomorrow", "POST", `${path}/load`, {});
  expect(await vote("tomorrow")).toBe(200);
  await expect.poll(status, { timeout: 60_000 }).toBe("ready");
});
