import { describe, expect, it } from "vitest";
import { textsUnder } from "./files.ts";
import { isTest } from "./layers.ts";
import { patternMakers, slowPatterns } from "./patterns.ts";

/** The kit is for authors of stores, who run it on their own text. */
const sources = new Map(
  [...textsUnder("src")].filter(([path]) => !isTest(path) && !path.startsWith("store/kit/")),
);

/**
 * Patterns that the tool does not trust, and why each of them costs no more than the length of its
 * text, or sees only short ones. A pattern on text of agents or clients needs the first.
 */
const ANSWERED: Readonly<Record<string, string>> = {
  "(?:KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)\\d*(?:_|$)":
    "no word begins with a digit, so its digits are read once",
  "^(?:(\\w+)\\.)?(\\w+)=(.*)$": "an argument of the operator's own command",
  "\\{(\\w+)\\}": "the sentences of our own table",
  "^(>=|<=|>|<|=|\\^|~)?v?(\\d+|[x*])(?:\\.(\\d+|[x*]))?(?:\\.(\\d+|[x*]))?(?:-[\\w.-]+)?$":
    "the range of a store's contract, of at most 256 characters",
  "'([^']*)'|\"([^\"]*)\"|\\\\(.)|([^'\"\\\\]+)":
    "a quote that is not closed has no other behind it",
  "(?:^|[\\\\/]|%2f|%5c)(?:\\.|%2e){2}(?:$|[\\\\/?#]|%2f|%5c)":
    "it repeats nothing without a bound",
  "0+$": "the digits of an id, of which there are few",
  "T[\\d:.]+$": "what follows a T has no other in it",
  "^( *)(`{3,}|~{3,}(?!~))([^`]*)$": "the look ahead ends the marks in one place only",
  "<(?:https?:\\/\\/|mailto:)[^\\s<>]*>": "it ends where the next one could begin",
  "\\\\*(?:[\\ud800-\\udbff][\\udc00-\\udfff]|[^\\\\])|\\\\+$": "a secret, which is short",
  "[^\\\\]+$": "one unit of a secret: backslashes and one character",
  "^(.*):(\\d+)$": "the address of the server's own options",
  "<!--.*?-->|<script(?:\\s[^>]*)?>(.*?)<\\/script\\s*>":
    "a page of the operator's web client, of at most WEB_PAGE_BYTES_MAX",
  "\\$\\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\\}":
    "the text ends with a brace, so each one matches",
  "-+$": "the beginning of a session's name, of at most SESSION_NAME_CHARS_MAX characters",
  " at line \\d+, column \\d+:?$": "the first line of what the YAML parser says of a fault",
  " serves .* already": "one line of a server of ours that could not start",
  "\\$\\{([^{}|]*)(?:\\|([^{}]*))?\\}": "it ends at the next brace, where the next one may begin",
};

/** Files that make patterns when they run, and what keeps those linear. */
const MAKERS: Readonly<Record<string, string>> = {
  "agent/user/account.ts": "a repetition with a bound; a name of ours at the beginning of a line",
  "core/policy/approval-key.ts": "each alternative of a word takes another first character",
  "session/export/html-text.ts": "each part stops at the next escape",
  "store/secret-filter.ts": "beginnings of secrets, each with one way to match",
  "store/secret-spelling.ts": "backslashes are counted up to a maximum, with one way to match",
  "tool/mcp/config.ts": "a repetition with a bound",
  "tool/mcp/tools.ts": "a repetition with a bound",
};

describe("P10: the search for patterns that run away", () => {
  it.each(["(a+)+$", "(?<!`)(`+)(?!`)(.*?)(?<!`)\\1(?!`)", "~{3,}([^`]*)$", "\\s+$"])(
    "finds %s",
    (pattern) => {
      const found = slowPatterns(new Map([["a.ts", `export const A = /${pattern}/;`]]));
      expect(found).toEqual([{ path: "a.ts", pattern }]);
    },
  );

  it.each(["^[a-z]{1,64}$", "[&<>]", "^a+b", "\\n$"])("accepts %s", (pattern) => {
    expect(slowPatterns(new Map([["a.ts", `export const A = /${pattern}/g;`]]))).toEqual([]);
  });

  it("finds what makes patterns when it runs", () => {
    const texts = { "a.ts": 'const a = new RegExp("a");', "b.ts": "const b = /RegExp(a)/;" };
    expect(patternMakers(new Map(Object.entries(texts)))).toEqual(["a.ts"]);
  });
});

describe("P10: every pattern on text of others", () => {
  it("costs the length of the text, or has an answer here", { timeout: 120_000 }, () => {
    const found = slowPatterns(sources).map(({ pattern }) => pattern);
    expect(new Set(found)).toEqual(new Set(Object.keys(ANSWERED)));
  });

  it("that is made at run time comes from a file that says what bounds it", () => {
    expect(patternMakers(sources).toSorted()).toEqual(Object.keys(MAKERS).toSorted());
  });
});
