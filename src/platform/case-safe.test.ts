import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { caseSafe, idOfCaseSafe } from "./case-safe.ts";

const CHARACTERS = "ABCXYZabcxyz0189._:-";
const ids = fc
  .string({ unit: fc.constantFrom(...CHARACTERS), minLength: 1, maxLength: 128 })
  .filter((id) => ![".", ".."].includes(id));

/** File systems take 255 bytes, and stores add suffixes of up to 50. */
const NAME_BYTES_MAX = 205;

describe("an id as the name of a file", () => {
  it("stays as it is if it has no capitals", () => {
    expect(caseSafe("a-session.of:mine_1")).toBe("a-session.of:mine_1");
  });

  it("is in small letters, and says after a plus which were capital", () => {
    expect(caseSafe("MyTeam")).toBe("myteam+a");
    expect(caseSafe("S")).toBe("s+8");
    expect(caseSafe("sessionX")).toBe("sessionx+01");
  });

  it("can be read back, whatever the id", () => {
    fc.assert(fc.property(ids, (id) => idOfCaseSafe(caseSafe(id)) === id));
  });

  it("P8: is never another id's name, on disks that do not see case either", () => {
    const respelt = ids.chain((id) =>
      fc.tuple(
        fc.constant(id),
        fc
          .array(fc.boolean(), { minLength: id.length, maxLength: id.length })
          .map((capital) =>
            [...id]
              .map((one, at) => (capital[at] ? one.toUpperCase() : one.toLowerCase()))
              .join(""),
          ),
      ),
    );
    const apart = ([one, other]: readonly [string, string]) =>
      one === other || caseSafe(one).toLowerCase() !== caseSafe(other).toLowerCase();
    fc.assert(fc.property(respelt, apart));
    fc.assert(fc.property(fc.tuple(ids, ids), apart));
  });

  it("P10: leaves room for a suffix, however long and loud the id is", () => {
    fc.assert(fc.property(ids, (id) => caseSafe(id).length <= NAME_BYTES_MAX));
    expect(caseSafe("A".repeat(128)).length).toBe(161);
  });

  it("is not mistaken for one if nobody made it", () => {
    const strange = [
      "A",
      "a+",
      "a+0",
      "a+80",
      "a+g",
      "a+F",
      ".+8",
      "+8",
      "a+8+8",
      "a+4",
      "a+draft-1",
    ];
    expect(strange.map(idOfCaseSafe)).toEqual(strange.map(() => null));
  });
});
