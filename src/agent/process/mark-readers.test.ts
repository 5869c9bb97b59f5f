import { describe, expect, it, onTestFinished } from "vitest";
import { addMarkReader, type ReadMark, readHiddenMarks } from "./mark-readers.ts";

const MARK: ReadMark = { marker: "m", isBlank: false, isHidden: false };

function reader(uid: number, answer: ReadonlyMap<number, ReadMark> | null) {
  const asked: number[] = [];
  const remove = addMarkReader({
    uid,
    read: async (pids) => {
      asked.push(...pids);
      return answer;
    },
  });
  onTestFinished(remove);
  return { asked, remove };
}

describe("P5: marks of processes that the server may not look into", () => {
  it("come from the reader of their user, who is asked for no others", async () => {
    const { asked } = reader(54_321, new Map([[7, MARK]]));
    const hidden = new Map([
      [7, 54_321],
      [8, 54_321],
      [9, 0],
    ]);
    expect(await readHiddenMarks(hidden)).toEqual(new Map([[7, MARK]]));
    expect(asked).toEqual([7, 8]);
  });

  it("are believed only for processes that were asked for", async () => {
    reader(54_321, new Map([[1, MARK]]));
    expect(await readHiddenMarks(new Map([[7, 54_321]]))).toEqual(new Map());
  });

  it("count as unknown, not as absent, while the reader cannot answer", async () => {
    const { remove } = reader(54_321, null);
    const hidden = new Map([[7, 54_321]]);
    const unread = { marker: null, isBlank: false, isHidden: true };
    expect(await readHiddenMarks(hidden)).toEqual(new Map([[7, unread]]));
    remove();
    expect(await readHiddenMarks(hidden)).toEqual(new Map());
  });
});
