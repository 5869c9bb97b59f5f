import { describe, expect, it } from "vitest";
import { messageLimit } from "./transport.ts";

async function through(chunks: readonly string[], isStream: boolean): Promise<string> {
  const source = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
  return new Response(source.pipeThrough(messageLimit(10, isStream))).text();
}

describe("P10: the answer of an MCP server", () => {
  it("is passed on as it came while it is small", async () => {
    expect(await through(["12345", "67890"], false)).toBe("1234567890");
  });

  it("breaks off when it grows too large", async () => {
    await expect(through(["12345", "67890", "1"], false)).rejects.toThrow(/too large/);
    await expect(through(["\n\n345", "67890", "1"], false)).rejects.toThrow(/too large/);
  });

  it("may go on for ever as a stream, if each event is small", async () => {
    const events = Array.from({ length: 9 }, (_, at) => `data:${at}\n\n`);
    expect(await through(events, true)).toBe(events.join(""));
    await expect(through(["data:12", "345678"], true)).rejects.toThrow(/too large/);
  });
});
