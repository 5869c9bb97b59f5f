import { describe, expect, it } from "vitest";
import { AGENT_TRACE_LINE_CHARS_MAX, AGENT_TRACE_WAITING_CHARS_MAX } from "../../core/limits.ts";
import { TraceQueue } from "./agents.ts";

const line = (text: string) =>
  ({ atMs: 0, direction: "in", profile: "echo", process: 1, line: text }) as const;

/** Everything that there is to read of a trace that is over. */
async function readOf(queue: TraceQueue) {
  queue.ended();
  const pieces: string[] = [];
  for await (const piece of queue.pieces()) pieces.push(piece);
  const entries = pieces.join("").trim().split("\n");
  return entries.map((entry) => JSON.parse(entry));
}

describe("a trace that is read", () => {
  it("begins at once, and has each line with what it is of", async () => {
    const queue = new TraceQueue((text) => text);
    queue.line(line("{}"));
    const [begun, first] = await readOf(queue);
    expect(begun).toMatchObject({ trace: "begun" });
    expect(first).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      direction: "in",
      profile: "echo",
      process: 1,
      line: "{}",
    });
  });

  it("P10: has the beginning of a line that is too long, and says how much it lacks", async () => {
    const queue = new TraceQueue((text) => text);
    queue.line(line("x".repeat(AGENT_TRACE_LINE_CHARS_MAX + 7)));
    const [, cut] = await readOf(queue);
    expect([cut.line.length, cut.cutChars]).toEqual([AGENT_TRACE_LINE_CHARS_MAX, 7]);
  });

  it("P10: loses lines that nobody reads in time, and tells how many", async () => {
    const queue = new TraceQueue((text) => text);
    const long = "x".repeat(AGENT_TRACE_LINE_CHARS_MAX / 2);
    const room = Math.floor(AGENT_TRACE_WAITING_CHARS_MAX / long.length);
    for (let n = 0; n < room + 5; n += 1) queue.line(line(long));
    const pieces = queue.pieces();
    await pieces.next();
    const { value: first } = await pieces.next();
    const kept = String(first).trim().split("\n").length;
    expect(kept).toBeLessThanOrEqual(room);
    const { value: told } = await pieces.next();
    expect(JSON.parse(String(told))).toMatchObject({ lost: room + 5 - kept });
  });

  it("P11: is freed of secrets before anything is cut", async () => {
    const queue = new TraceQueue((text) => text.replaceAll("secret", "[redacted]"));
    queue.line(line(`${"x".repeat(AGENT_TRACE_LINE_CHARS_MAX - 3)}secret`));
    const [, cut] = await readOf(queue);
    expect(cut.line.endsWith("[re")).toBe(true);
  });
});
