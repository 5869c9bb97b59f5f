import { describe, expect, it } from "vitest";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };
const ask = { prompt: [{ type: "text", text: "ask" }] };

/** Ada has made a session from two tabs; Bob and Cleo have joined it from one each. */
async function shared(policy: "consensus" | "first-responder" = "consensus") {
  const people = await People.open({ stage: { settings: { policy } } });
  const ada = await people.person("ada", "owner");
  const bob = await people.person("bob", "member");
  const cleo = await people.person("cleo", "member");
  const body = { sessionScope: "thread" };
  const made = await ada.call("POST", "/session", { body, clientId: "ada-1" });
  expect(made.status).toBe(200);
  const path = `/session/${made.body.sessionId}`;
  const join = async (who: Person, clientId: string) => {
    const joined = await who.call("POST", `${path}/resume`, { body: {}, clientId });
    expect([joined.status, joined.body.clientId]).toEqual([200, clientId]);
  };
  await join(ada, "ada-2");
  await join(bob, "bob-1");
  await join(cleo, "cleo-1");
  const stream = await StreamClient.open(people.world, `${path}/events`, {
    ...ada.headers,
    "last-event-id": "0",
  });
  return { ada, bob, cleo, path, stream };
}

async function asked(policy?: "first-responder") {
  const world = await shared(policy);
  const { ada, path, stream } = world;
  const sent = await ada.call("POST", `${path}/prompt`, { body: ask, clientId: "ada-1" });
  expect(sent.status).toBe(202);
  const request = await heard(stream, "permission_request");
  const requestId = String(request.data.data.requestId);
  const vote = (who: Person, clientId: string) =>
    who.call("POST", `${path}/permission/${requestId}`, { body: ALLOW, clientId });
  const isOpen = async () => (await ada.call("GET", `${path}/status`)).body.status === "waiting";
  return { ...world, requestId, vote, isOpen };
}

describe("users behind clients", () => {
  it("count once in a consensus, however many clients they have (design, 8)", async () => {
    const { ada, bob, stream, vote, isOpen } = await asked();
    expect((await vote(ada, "ada-1")).status).toBe(200);
    expect((await vote(ada, "ada-2")).status).toBe(200);
    expect(await isOpen()).toBe(true);
    expect((await vote(bob, "bob-1")).status).toBe(200);
    const resolved = await heard(stream, "permission_resolved");
    expect(resolved.data.data).toMatchObject({ voterClientId: "bob-1", voterUserId: "bob" });
  });

  it("are beside the client in what they have begun and decided", async () => {
    const { cleo, stream, vote } = await asked("first-responder");
    await vote(cleo, "cleo-1");
    const resolved = await heard(stream, "permission_resolved");
    expect(resolved.data.data).toMatchObject({ voterClientId: "cleo-1", voterUserId: "cleo" });
    const admitted = await heard(stream, "prompt_admitted");
    const originator = { originatorClientId: "ada-1", originatorUserId: "ada" };
    const by = { data: { userId: "ada" }, ...originator };
    expect(admitted.data).toMatchObject(by);
    const attached = stream.frames.filter(({ event }) => event === "client_attached");
    expect(attached.map(({ data }) => data.data)).toMatchObject([
      { clientId: "ada-1", userId: "ada" },
      { clientId: "ada-2", userId: "ada" },
      { clientId: "bob-1", userId: "bob" },
      { clientId: "cleo-1", userId: "cleo" },
    ]);
  });

  it("do not come in under a client id of somebody else's", async () => {
    const { bob, path, vote, isOpen } = await asked();
    const refused = [400, "invalid_client_id"];
    const answer = await vote(bob, "ada-1");
    expect([answer.status, answer.body.code]).toEqual(refused);
    expect(await isOpen()).toBe(true);
    for (const rest of ["/prompt", "/cancel", "/heartbeat", "/resume"]) {
      const { status, body } = await bob.call("POST", `${path}${rest}`, {
        body: ask,
        clientId: "ada-1",
      });
      expect([rest, status, body.code]).toEqual([rest, ...refused]);
    }
  });

  it("have no vote under a client id that the session does not know", async () => {
    const { bob, vote, isOpen } = await asked();
    const answer = await vote(bob, "bob-unknown");
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_client_id"]);
    expect(await isOpen()).toBe(true);
  });
});
