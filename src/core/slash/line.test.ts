import { describe, expect, it } from "vitest";
import { SLASH_WORDS_MAX } from "../limits.ts";
import { readSlash, slashTextOf } from "./commands.ts";

const text = (said: string) => ({ type: "text", text: said });
const image = { type: "image", data: "aGk=", mimeType: "image/png" };

describe("the first character decides what is a command", () => {
  it.each(["/", "/skills", "/no such thing", "/a\nb"])("%j is one", (said) => {
    expect(slashTextOf([text(said)])).toBe(said);
  });

  it.each(["", " /skills", "\n/skills", "\ufeff/skills", "hello /skills", "\\/skills"])(
    "%j is conversation",
    (said) => {
      expect(slashTextOf([text(said)])).toBeNull();
    },
  );

  it("is the first character of the first block, and of no other", () => {
    expect(slashTextOf([text("/skills"), text("more"), image])).toBe("/skills");
    expect(slashTextOf([text("hello"), text("/skills")])).toBeNull();
    expect(slashTextOf([image, text("/skills")])).toBeNull();
    expect(slashTextOf([])).toBeNull();
  });

  it("is no block that merely says it is text", () => {
    expect(slashTextOf([{ type: "text" }])).toBeNull();
    expect(slashTextOf([{ type: "text", text: 7 }])).toBeNull();
    expect(slashTextOf([{ type: "resource", text: "/skills" }])).toBeNull();
  });
});

describe("a line is a name and words", () => {
  it.each([
    ["/skills", "skills", [], ""],
    ["/skill review", "skill", ["review"], "review"],
    ["/skill \t review  the\n\tlast one ", "skill", ["review", "the", "last", "one"], null],
    ["/Skills", "Skills", [], ""],
    ["//", "/", [], ""],
    ["/save-and-close\n", "save-and-close", [], ""],
    ["/\u{1f3b5} a", "\u{1f3b5}", ["a"], "a"],
  ])("%j", (said, name, args, rest) => {
    const line = readSlash(said);
    expect(line?.name).toBe(name);
    expect(line?.args).toEqual(args);
    if (rest !== null) expect(line?.rest).toBe(rest);
  });

  it("keeps what follows the name as it was written, from its first word on", () => {
    expect(readSlash("/sh \n printf 'a  b'\n\nls\t\n")?.rest).toBe("printf 'a  b'\n\nls\t\n");
  });

  it.each(["/", "/ ", "/ skills", "/\tskills", "/\n", "", "skills"])("%j has no name", (said) => {
    expect(readSlash(said)).toBeNull();
  });

  it("P10: looks at no more words than a limit, and loses none of the text", () => {
    const many = "a ".repeat(SLASH_WORDS_MAX * 2);
    const line = readSlash(`/skill ${many}`);
    expect(line?.args).toHaveLength(SLASH_WORDS_MAX);
    expect(line?.rest).toBe(many);
  });
});
