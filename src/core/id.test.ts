import { describe, expect, it } from "vitest";
import {
  parseAskId,
  parseClientId,
  parsePromptId,
  parseSessionId,
  parseTurnId,
  parseUserId,
} from "./id.ts";

const parsers = {
  session: parseSessionId,
  prompt: parsePromptId,
  turn: parseTurnId,
  ask: parseAskId,
  client: parseClientId,
  user: parseUserId,
};

describe.each(Object.entries(parsers))("the id of a %s", (_kind, parse) => {
  it.each([
    "a",
    "0",
    "client_0b6c1a52-7f1e-4c57-9f43-9a2b7d0c6f11",
    "AZaz09._:-",
    "-",
    "...",
    "a..b",
    ".hidden",
    "__proto__",
    "x".repeat(128),
  ])("may be %j, and stays as it is", (text) => {
    expect(parse(text)).toBe(text);
  });

  it.each([
    ["empty", ""],
    ["longer than 128 characters", "x".repeat(129)],
    ["a path", "a/b"],
    ["a path of another system", "a\\b"],
    ["two words", "a b"],
    ["ended by a line", "a\n"],
    ["begun by a line", "\na"],
    ["two lines", "a\nb"],
    ["ended by a NUL", "a\0"],
    ["an escape sequence", "\u001b[31m"],
    ["an accented letter", "é"],
    ["a letter of another script that looks like one of ours", "\u0430"],
    ["a digit of another script", "\u0661"],
    ["a sign above the basic plane", "\u{1f600}"],
    ["percent-encoded", "a%2fb"],
    ["a query", "a?b"],
    ["quoted", '"a"'],
  ])("is never %s", (_what, text) => {
    expect(parse(text)).toBeNull();
  });
});

describe("an id that may become part of a path", () => {
  const { client, ...ours } = parsers;

  it.each(Object.entries(ours))(
    "of a %s is neither a folder itself nor the one above",
    (_, parse) => {
      expect([parse("."), parse("..")]).toEqual([null, null]);
    },
  );

  it("is not a client's, which the wire lets be called so", () => {
    expect([client("."), client("..")]).toEqual([".", ".."]);
  });
});
