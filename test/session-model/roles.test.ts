import { describe, expect, it } from "vitest";
import { isObject, type JsonObject, objectAt } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { SessionCaller } from "./caller.fixture.ts";
import { Files, skill, toolSkill } from "./files.fixture.ts";

const server = sharedServer();

/** A message as a person would tell it: who, and what. */
function told(message: JsonObject): string {
  const { role, content, toolCallId, status, result } = message;
  if (role === "tool") {
    const { rawOutput, content: shown } = isObject(result) ? result : {};
    return `tool ${toolCallId} ${status} ${rawOutput ?? JSON.stringify(shown)}`;
  }
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  return `${role}: ${blocks.map(({ text }) => text).join("")}`;
}

describe("a session's conversation", { timeout: 60_000 }, () => {
  it("keeps roles in order, and each result beside its call", async () => {
    const files = new Files(server());
    files.write("note.txt", "from the file");
    files.skill("look", toolSkill("read_file"));
    files.skill("deploy", skill("Ships it.", "Deploy from main."));
    const session = await SessionCaller.create(server(), { mode: "yolo" });
    await session.say("/skills");
    await session.say(
      "say before",
      "tool a kind=read text=first status=open",
      "say meanwhile",
      "tool b kind=read text=second status=completed",
      "tool a text=late status=completed",
      "say after",
    );
    await session.say("/nonsense");
    await session.say("/skill look note.txt");
    await session.say("fail 7 broken");
    await session.say("/skill deploy say shipped");
    await session.say("/status");
    const messages = await session.messages();
    expect(messages.map(({ index }) => index)).toEqual(messages.map((_, index) => index + 1));
    const [first, ...rest] = messages.map(told);
    expect(first).toMatch(/^user: say before\n/);
    expect(rest).toEqual([
      "assistant: before",
      expect.stringMatching(/^tool a completed .*late/),
      "assistant: meanwhile",
      expect.stringMatching(/^tool b completed .*second/),
      "assistant: after",
      "user: /skill look note.txt",
      expect.stringMatching(/^tool tool-\S+ completed from the file$/),
      "assistant: from the file",
      "user: /skill deploy say shipped",
      "assistant: shipped",
    ]);
    await server().kill("SIGKILL");
    await server().restart();
    expect((await session.messages()).map(told)).toEqual([first, ...rest]);
    const { messageCount } = objectAt(await session.fields(), "conversation_state") ?? {};
    expect(messageCount).toBe(rest.length + 1);
  });
});
