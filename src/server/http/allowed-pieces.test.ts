import { describe, expect, it } from "vitest";
import { allowedPieces } from "./delivery.ts";

/** Three pieces, and what is heard when the next is wanted, or none any more. */
async function* three(hear: (words: string) => void = () => {}) {
  try {
    for (const piece of ["one", "two", "three"]) {
      hear(`${piece} is wanted`);
      yield piece;
    }
    hear("the end is wanted");
  } finally {
    hear("over");
  }
}

async function taken(pieces: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

const GONE = "its reader may read no more, or its tenant is deleted";

describe("a file that is read while it is sent", () => {
  it("is whole if its tenant stays", async () => {
    const pieces = allowedPieces(three(), new AbortController().signal);
    expect(await taken(pieces)).toEqual(["one", "two", "three"]);
  });

  it("P8: is not read on for a reader who comes back when its tenant is gone", async () => {
    const heard: string[] = [];
    const ending = new AbortController();
    const pieces = allowedPieces(
      three((words) => heard.push(words)),
      ending.signal,
    );
    expect((await pieces.next()).value).toBe("one");
    ending.abort();
    await expect(pieces.next()).rejects.toThrow(GONE);
    expect(heard).toEqual(["one is wanted", "over"]);
  });

  it.each([
    ["a piece", "two is wanted"],
    ["the end", "the end is wanted"],
  ])("P8: does not hand out %s that was read while its tenant went", async (_what, amid) => {
    const ending = new AbortController();
    const heard: string[] = [];
    const pieces = three((words) => {
      heard.push(words);
      if (words === amid) ending.abort();
    });
    await expect(taken(allowedPieces(pieces, ending.signal))).rejects.toThrow(GONE);
    expect(heard.at(-1)).toBe("over");
    expect(heard.at(-2)).toBe(amid);
  });

  it("is not begun when its tenant is on its way out", async () => {
    const heard: string[] = [];
    const pieces = allowedPieces(
      three((words) => heard.push(words)),
      AbortSignal.abort(),
    );
    await expect(pieces.next()).rejects.toThrow(GONE);
    expect(heard).toEqual([]);
  });
});
