import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

const ASK = "session/request_permission";
const FORM = "elicitation/create";
const chosen = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
const CANCELLED = { outcome: { outcome: "cancelled" } };

describe("echo, told to ask,", () => {
  it("asks for permission, waits, and says what was chosen", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(ASK, () => chosen("allow_once"));
    const turn = await client.prompt("ask command=ls path=/a", "say next");
    expect(client.requests(ASK)).toEqual([
      {
        sessionId: "sess-1",
        toolCall: {
          toolCallId: "call-1",
          status: "pending",
          title: "ls",
          kind: "execute",
          locations: [{ path: "/a" }],
          rawInput: { path: "/a", command: "ls" },
        },
        options: [
          { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
          { optionId: "allow_always", name: "Allow always", kind: "allow_always" },
          { optionId: "reject_once", name: "Reject once", kind: "reject_once" },
        ],
      },
    ]);
    expect(turn.text).toBe("permission for call-1: selected allow_once\nnext");
  });

  it("names an open call and says no more, with options of its own", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(ASK, () => CANCELLED);
    const turn = await client.prompt("tool t status=open", "ask tool=t options=yes:allow_once");
    expect(client.requests(ASK)).toMatchObject([
      {
        toolCall: { toolCallId: "t" },
        options: [{ optionId: "yes", name: "Allow once", kind: "allow_once" }],
      },
    ]);
    expect(Object.keys(Object(client.requests(ASK)[0]?.toolCall))).toEqual(["toolCallId"]);
    expect(turn.text).toBe("permission for t: cancelled\n");
  });

  it("says so if it is not answered well", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("ask")).text).toBe(
      "permission for call-1: failed with -32601: not served\n",
    );
    client.serves.set(ASK, () => ({}));
    expect((await client.prompt("ask")).text).toBe(
      "permission for call-2: an answer without an outcome\n",
    );
  });
});

describe("a question of echo", () => {
  it("is a form where the client has them", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(FORM, () => ({ action: "accept", content: { color: "blue" } }));
    expect((await client.prompt("question field=color Which color?")).text).toBe('color: "blue"\n');
    expect(client.requests(FORM)).toEqual([
      {
        sessionId: "sess-1",
        mode: "form",
        message: "Which color?",
        requestedSchema: {
          type: "object",
          properties: { color: { type: "string", title: "Which color?" } },
          required: ["color"],
        },
      },
    ]);
    client.serves.set(FORM, () => ({ action: "decline" }));
    expect((await client.prompt("question Why?")).text).toBe("answer: decline\n");
    client.serves.delete(FORM);
    expect((await client.prompt("question Why?")).text).toContain("failed with -32601");
  });

  it("is a permission with questions in it where not", async () => {
    const client = new EchoClient();
    await client.initialize({});
    await client.newSession();
    client.serves.set(ASK, () => ({ ...chosen("answer"), answers: { color: "blue" } }));
    expect((await client.prompt("question field=color Which?")).text).toBe('color: "blue"\n');
    expect(client.requests(ASK)).toMatchObject([
      { toolCall: { rawInput: { questions: [{ answerKey: "color", question: "Which?" }] } } },
    ]);
    client.serves.set(ASK, () => chosen("decline"));
    expect((await client.prompt("question Why?")).text).toBe("answer: decline\n");
    client.serves.set(ASK, () => CANCELLED);
    expect((await client.prompt("question Why?")).text).toBe("answer: cancelled\n");
  });
});
