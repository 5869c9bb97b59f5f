import { Writable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { notificationLine, requestLine } from "../../../wire/rpc.ts";
import { EchoAgent } from "./agent.ts";
import { Outbox } from "./client-link.ts";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";
import { Flags } from "./flags.ts";
import { memoryStore } from "./session-store.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

const ASK = "session/request_permission";
const CANCELLED = { result: { stopReason: "cancelled" } };
const cancel = (client: EchoClient) => client.notify("session/cancel", { sessionId: "sess-1" });
const isSaid = (client: EchoClient, text: string) => () =>
  JSON.stringify(client.updates()).includes(text);

describe("a turn", () => {
  it.each([
    ["refuse", { result: { stopReason: "refusal" } }],
    ["stop max_tokens", { result: { stopReason: "max_tokens" } }],
    ["stop max_turn_requests", { result: { stopReason: "max_turn_requests" } }],
    ["fail -32603 out of order", { error: { code: -32603, message: "out of order" } }],
  ])("ends where the script says: %s", async (line, reply) => {
    const client = await EchoClient.withSession();
    expect(await client.prompt("say a", line, "say b")).toMatchObject({ reply, text: "a" });
  });

  it("goes on after a sleep", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("sleep 1", "say a")).text).toBe("a");
  });

  it("is answered twice if told so", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("twice");
    await client.until(() => client.heard.length > 0);
    expect(client.heard).toMatchObject([{ kind: "result", result: { stopReason: "end_turn" } }]);
  });

  it("is the only one of its session", async () => {
    const client = await EchoClient.withSession();
    const first = client.prompt("say a", "hang");
    await client.until(isSaid(client, '"a"'));
    expect((await client.prompt("say b")).reply).toMatchObject({ error: { code: -32600 } });
    const other = await client.newSession();
    expect((await client.promptIn(other, "say c")).text).toBe("c");
    cancel(client);
    expect((await first).reply).toEqual(CANCELLED);
  });
});

describe("a cancel", () => {
  it.each(["hang", "sleep 600000", "chunks 10_000_000 100", "garbage 10_000_000", "flood 16g"])(
    "ends a turn promptly: %s",
    async (line) => {
      const client = await EchoClient.withSession();
      const turn = client.prompt("say a", line, "say never");
      await client.until(isSaid(client, '"a"'));
      cancel(client);
      const { reply, text } = await turn;
      expect(reply).toEqual(CANCELLED);
      expect(text).not.toContain("never");
    },
  );

  it("is heard between chunks, even where the reader is never behind", async () => {
    const ended = Promise.withResolvers<string>();
    const output = new Writable({
      decodeStrings: false,
      write(text: string, _, done) {
        if (text.includes("stopReason")) ended.resolve(text.slice(text.indexOf("stopReason")));
        done();
      },
    });
    const flags = new Flags(new Map(), []);
    const agent = new EchoAgent(flags, new Outbox(output), memoryStore());
    const sessionId = "sess-1";
    const prompt = [{ type: "text", text: "chunks 10_000_000 1" }];
    agent.receive(requestLine(1, "initialize", {}));
    agent.receive(requestLine(2, "session/new", { cwd: "/" }));
    agent.receive(requestLine(3, "session/prompt", { sessionId, prompt }));
    setImmediate(() => agent.receive(notificationLine("session/cancel", { sessionId })));
    expect(await ended.promise).toContain("cancelled");
  });

  it("fails the tool calls that are open, before the turn ends", async () => {
    const client = await EchoClient.withSession();
    const turn = client.prompt("tool t status=open", "tool u", "hang");
    await client.until(isSaid(client, '"u"'));
    cancel(client);
    expect((await turn).updates.at(-1)).toEqual({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      status: "failed",
    });
  });

  it("ends an ask when the client takes it back", async () => {
    const client = await EchoClient.withSession();
    const answer = Promise.withResolvers<unknown>();
    client.serves.set(ASK, () => answer.promise);
    const turn = client.prompt("ask", "say never");
    await client.until(() => client.requests(ASK).length > 0);
    cancel(client);
    answer.resolve({ outcome: { outcome: "cancelled" } });
    expect(await turn).toMatchObject({
      reply: CANCELLED,
      text: "permission for call-1: cancelled\n",
    });
  });

  it("ends an ask that the client forgets about, after a while", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(ASK, () => new Promise(() => {}));
    const turn = client.prompt("ask");
    await client.until(() => client.requests(ASK).length > 0);
    cancel(client);
    expect((await turn).reply).toEqual(CANCELLED);
  });

  it("can be for the prompt's request", async () => {
    const client = await EchoClient.withSession();
    const prompt = [{ type: "text", text: "say a\nhang" }];
    const turn = client.callAs("p", "session/prompt", { sessionId: "sess-1", prompt });
    await client.until(isSaid(client, '"a"'));
    client.notify("$/cancel_request", { requestId: "q" });
    client.notify("$/cancel_request", { requestId: "p" });
    expect(await turn).toEqual(CANCELLED);
  });

  it("is ignored if told so, until the session is closed", async () => {
    const client = await EchoClient.withSession();
    const answer = Promise.withResolvers<unknown>();
    client.serves.set(ASK, () => answer.promise);
    const turn = client.prompt("ignore-cancel", "ask", "say still here", "hang");
    await client.until(() => client.requests(ASK).length > 0);
    cancel(client);
    answer.resolve({ outcome: { outcome: "cancelled" } });
    await client.until(isSaid(client, "still here"));
    expect(await client.result("session/close", { sessionId: "sess-1" })).toEqual({});
    expect((await turn).reply).toEqual(CANCELLED);
  });

  it("of nothing does nothing", async () => {
    const client = await EchoClient.withSession();
    cancel(client);
    client.notify("session/cancel", {});
    expect((await client.prompt("say a")).reply).toEqual({ result: { stopReason: "end_turn" } });
  });
});

describe("a prompt that is steered into a turn", () => {
  it("is done after what the turn has to do, and ends with it", async () => {
    const client = await EchoClient.withSession("--steer");
    const answer = Promise.withResolvers<unknown>();
    client.serves.set(ASK, () => answer.promise);
    const first = client.prompt("ask", "say a");
    await client.until(() => client.requests(ASK).length > 0);
    const second = client.prompt("and b");
    const third = client.prompt("say c", "stop max_tokens");
    answer.resolve({ outcome: { outcome: "cancelled" } });
    const replies = (await Promise.all([first, second, third])).map(({ reply }) => reply);
    expect(replies).toEqual(Array(3).fill({ result: { stopReason: "max_tokens" } }));
    expect((await first).text).toBe("permission for call-1: cancelled\naand bc");
  });

  it("--queue: is done when the turn has been answered, and has an answer of its own", async () => {
    const client = await EchoClient.withSession("--queue");
    const answers = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
    const [one, two] = answers;
    const asked = answers.values();
    client.serves.set(ASK, () => asked.next().value?.promise ?? Promise.resolve(null));
    const first = client.prompt("ask", "say a");
    await client.until(() => client.requests(ASK).length > 0);
    // It asks before it says a word, and is answered only when the first one has been.
    const second = client.prompt("ask", "say b", "stop max_tokens");
    one?.resolve({ outcome: { outcome: "cancelled" } });
    expect(await first).toMatchObject({
      reply: { result: { stopReason: "end_turn" } },
      text: "permission for call-1: cancelled\na",
    });
    two?.resolve({ outcome: { outcome: "cancelled" } });
    expect((await second).reply).toEqual({ result: { stopReason: "max_tokens" } });
  });

  it("--queue: is cancelled with the turn that it waits for", async () => {
    const client = await EchoClient.withSession("--queue");
    const first = client.prompt("say a", "hang");
    await client.until(isSaid(client, '"a"'));
    const second = client.prompt("say b");
    cancel(client);
    expect((await first).reply).toEqual(CANCELLED);
    expect((await second).reply).toEqual(CANCELLED);
    expect(JSON.stringify(client.updates())).not.toContain('"b"');
  });

  it("is one too many after twenty", async () => {
    const client = await EchoClient.withSession("--steer");
    const first = client.prompt("say a", "hang");
    await client.until(isSaid(client, '"a"'));
    const later = Array.from({ length: 21 }, () => client.prompt("say b"));
    expect((await later[20])?.reply).toMatchObject({ error: { code: -32600 } });
    cancel(client);
    expect((await first).reply).toEqual(CANCELLED);
    expect((await later[19])?.reply).toEqual(CANCELLED);
  });
});
