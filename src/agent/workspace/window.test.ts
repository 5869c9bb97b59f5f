import { describe, expect, it } from "vitest";
import { FILE_CHUNK_BYTES, FILE_READ_BYTES_MAX } from "../../core/limits.ts";
import { WorkspaceError } from "./errors.ts";
import { fill, LineWindow } from "./files.ts";

const TEXT = "one\ntwo\r\n\nfour\nfünf";

/** What a window gives of a text that arrives in pieces of this size. */
function look(text: string, line: number | null, limit: number | null, pieceBytes: number): string {
  const window = new LineWindow(line, limit, 1_000);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (window.isIncomplete) window.feed(Buffer.from(bytes.subarray(at, at + pieceBytes)));
  }
  return window.text();
}

describe("a window of lines", () => {
  it.each([1, 2, 3, 5, 100])(
    "is the same however the file arrives: %i bytes at a time",
    (bytes) => {
      expect(look(TEXT, null, null, bytes)).toBe(TEXT);
      expect(look(TEXT, 1, 1, bytes)).toBe("one\n");
      expect(look(TEXT, 0, 1, bytes)).toBe("one\n");
      expect(look(TEXT, 2, 2, bytes)).toBe("two\r\n\n");
      expect(look(TEXT, 4, null, bytes)).toBe("four\nfünf");
      expect(look(TEXT, 5, 9, bytes)).toBe("fünf");
      expect(look(TEXT, 6, 1, bytes)).toBe("");
      expect(look(TEXT, 1, 0, bytes)).toBe("");
      expect(look("", 1, 1, bytes)).toBe("");
    },
  );

  it("gives the file again when windows are put one after the other", () => {
    const lines = [1, 2, 3, 4, 5].map((line) => look(TEXT, line, 1, 7));
    expect(lines.join("")).toBe(TEXT);
  });

  it("shows what is no UTF-8 as replacement characters, and keeps a byte order mark", () => {
    const window = new LineWindow(null, null, 1_000);
    window.feed(Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff, 0x62]));
    expect(window.text()).toBe("\ufeffa\ufffdb");
  });
});

describe("P10: a window over a long file", () => {
  /** A file of the same text without end, which counts how often it is read. */
  function endless(text = "line\n") {
    const counted = { reads: 0, read: async (_: Buffer) => 0 };
    counted.read = async (chunk) => {
      counted.reads += 1;
      chunk.fill(text);
      return chunk.length;
    };
    return counted;
  }

  it("reads no further than the lines it wants", async () => {
    const file = endless();
    const window = new LineWindow(1, 10, 1_000);
    await fill(window, file.read);
    expect([file.reads, window.text()]).toEqual([1, "line\n".repeat(10)]);
  });

  it("reads no further than it may hold", async () => {
    const file = endless();
    const window = new LineWindow(null, null, FILE_CHUNK_BYTES);
    await fill(window, file.read);
    expect([file.reads, window.isOverfull]).toEqual([2, true]);
  });

  it("ends with a file that grows while it is read", async () => {
    const file = endless("no line at all");
    const late = new LineWindow(Number.MAX_SAFE_INTEGER, 1, 1_000);
    await expect(fill(late, file.read)).rejects.toThrow(WorkspaceError);
    expect(file.reads).toBe(FILE_READ_BYTES_MAX / FILE_CHUNK_BYTES + 1);
  });
});
