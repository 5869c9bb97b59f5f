import { describe, expect, it } from "vitest";
import { nameFromWords, numberedName, parseSessionName } from "./name.ts";

const UUID = "3f0c9b1e-8a44-4c7e-9d2b-0a1b2c3d4e5f";

describe("a name of a session", () => {
  it.each(["ab", "fix-login", "2-be", "x".repeat(64), "abc", "add", "12", "dead-beef", "v2--x-"])(
    "can be %s",
    (name) => expect(parseSessionName(name)).toBe(name),
  );

  it.each([
    "",
    "a",
    "x".repeat(65),
    "Fix",
    "fix login",
    "fix_login",
    "-x",
    "--",
    "ä-b",
    "a.b",
    "a\n",
  ])("cannot be %j", (text) => expect(parseSessionName(text)).toBe(null));

  it("is never like a UUID, nor like the beginning of one that a client may write for it", () => {
    for (let chars = 4; chars <= UUID.length; chars += 1) {
      expect(parseSessionName(UUID.slice(0, chars))).toBe(null);
    }
    for (const text of ["face", "1234", "deadbeef", "12345678-9", "00000000-0000"]) {
      expect(parseSessionName(text)).toBe(null);
    }
    for (const text of ["3f0", "deadbeef0", "1234-5", "12345678-12345", `${UUID}0`]) {
      expect(parseSessionName(text)).toBe(text);
    }
  });
});

describe("a name that is made of words", () => {
  it.each([
    ["Fix the failing login test", "fix-failing-login-test"],
    ["add retry to fetch", "add-retry-to-fetch"],
    ["  Why?! is `npm test` so slow, please, these days ...", "why-is-npm-test-so"],
    ["Überprüfe die Größe", "uberprufe-die"],
    ["say /etc/passwd's “size”", "say-etc-passwd-s-size"],
    ["the", "the"],
    ["face", "session-face"],
    ["2026", "session-2026"],
    ["x", "session-x"],
    [`${"w".repeat(90)} b`, "w".repeat(40)],
    [`begin ${"w".repeat(90)}`, "begin"],
    ["修复登录 bug", "bug"],
  ])("%j is %s", (text, name) => {
    expect(nameFromWords(text)).toBe(name);
    expect(parseSessionName(name)).toBe(name);
  });

  it.each(["", "修复登录", "🙂 …", "почини вход"])("there is none in %j", (text) => {
    expect(nameFromWords(text)).toBe(null);
  });

  it("gets a number behind it, and stays as short as a name is", () => {
    const name = parseSessionName("fix") ?? expect.unreachable();
    expect([1, 2, 10].map((number) => numberedName(name, number))).toEqual([
      "fix",
      "fix-2",
      "fix-10",
    ]);
    const long = parseSessionName(`${"a".repeat(60)}-bcd`) ?? expect.unreachable();
    expect(numberedName(long, 12)).toBe(`${"a".repeat(60)}-12`);
  });
});
