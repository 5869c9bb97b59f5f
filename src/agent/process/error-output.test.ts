import { describe, expect, it } from "vitest";
import { AGENT_SAID_CHARS_MAX, AGENT_STDERR_BYTES_MAX } from "../../core/limits.ts";
import { ErrorOutput } from "./error-output.ts";

function said(texts: readonly string[], secrets: readonly string[] = []): string {
  const words = new ErrorOutput(secrets);
  for (const text of texts) words.push(Buffer.from(text));
  return words.excerpt();
}

describe("P10: kept error output", () => {
  it("are empty if there were none", () => {
    expect(said([])).toBe("");
  });

  it("are put together from pieces, even if a piece ends within a character", () => {
    const words = new ErrorOutput([]);
    for (const byte of Buffer.from("fröhlich 🎈")) words.push(Buffer.from([byte]));
    expect(words.excerpt()).toBe("fröhlich 🎈");
  });

  it("are the end of a long speech, and never begin within a character", () => {
    const long = said(["🎈".repeat(AGENT_STDERR_BYTES_MAX), "the end"]);
    expect(long).toMatch(/^(?:🎈)+the end$/u);
    expect(long.length).toBeLessThanOrEqual(AGENT_SAID_CHARS_MAX);
    expect(long.length).toBeGreaterThan(AGENT_SAID_CHARS_MAX - 2);
  });

  it.each([1, 7, 1_000, AGENT_STDERR_BYTES_MAX - 1, AGENT_STDERR_BYTES_MAX, 100_000])(
    "are the same in pieces of %d bytes",
    (size) => {
      const speech = Array.from({ length: 30_000 }, (_, n) => `${n}`).join(" ");
      const pieces = speech.match(new RegExp(`[^]{1,${Math.min(size, 60_000)}}`, "g")) ?? [];
      expect(said(pieces)).toBe(speech.slice(-AGENT_SAID_CHARS_MAX).trim());
    },
  );

  it("are those since a moment, if that is asked for, even one within a character", () => {
    const words = new ErrorOutput([]);
    const all = Buffer.from("before\nfröhlich");
    for (const byte of all) {
      expect(words.excerpt(words.totalBytes)).toBe("");
      words.push(Buffer.from([byte]));
    }
    expect(words.excerpt("before\n".length)).toBe("fröhlich");
    expect(words.excerpt("before\nfr".length + 1)).toBe("hlich");
    words.push(Buffer.from(`${"x".repeat(AGENT_STDERR_BYTES_MAX)} now`));
    expect(words.excerpt(3)).toBe(words.excerpt());
    expect(words.excerpt(words.totalBytes - 3)).toBe("now");
  });

  it("have no colours, no control characters, and lines that end in one way", () => {
    const text =
      "\u001b[1;31mError\u001b[0m:\ta\r\nb\rc\u0000\u0007\u202e\u001b]8;;http://x\u0007d";
    expect(said([text])).toBe("Error:\ta\nb\ncd");
  });
});

describe("P11: secrets in error output", () => {
  it("are not shown, though they came in pieces or in colours", () => {
    expect(said(["key=se", "cret-1", "23 "], ["secret-123"])).toBe("key=[redacted]");
    expect(said(["sec\u001b[1mret-123"], ["secret-123"])).toBe("[redacted]");
  });

  it("are not shown in part, where one is contained in another", () => {
    expect(said(["secret-123-long"], ["secret-123", "secret-123-long"])).toBe("[redacted]");
  });

  it("are not shown in part, where a moment has cut one in two", () => {
    const words = new ErrorOutput(["secret-123"]);
    words.push(Buffer.from("key=secret-"));
    const since = words.totalBytes;
    words.push(Buffer.from("123 and more"));
    expect(words.excerpt(since)).toBe("");
  });

  it("are not shown in part, where the ring has cut one in two", () => {
    const secret = "0123456789abcdef";
    // Only colours follow, so that the little that is kept of the secret would be shown.
    const colours = "\u001b[1m".repeat(AGENT_STDERR_BYTES_MAX / 4 - 2);
    expect(said([secret, colours], [secret])).toBe("");
  });
});
