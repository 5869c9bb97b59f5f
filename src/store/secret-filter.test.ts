import { describe, expect, it } from "vitest";
import { SecretFilter, secretPatterns } from "./secret-filter.ts";
import { spellingsOf } from "./secret-spelling.ts";

const filterOf = (...secrets: readonly string[]) =>
  new SecretFilter(secretPatterns(secrets.map(spellingsOf)));

describe("P11: a filter for texts that may hold a secret", () => {
  it("takes the longest part of a secret that is written only one way as its anchor", () => {
    expect(spellingsOf("key+of/the_house").plain.anchor).toBe("the_house");
    expect(spellingsOf("v1.2-3~4 56").plain.anchor).toBe("v1.2-3~4");
    expect(spellingsOf("!!\\a!\\b!").plain.anchor).toBe("");
  });

  it("finds a secret behind its anchor, and one that has none", () => {
    for (const secret of ["key+of/the_house", "a!b!c!d!", '"quo\\ted" pass']) {
      const filter = filterOf(secret, "another-secret");
      for (const text of [secret, JSON.stringify(secret), encodeURIComponent(secret)]) {
        expect(filter.mayHold(`is ${text} it`)).toBe(true);
      }
      expect(filter.mayHold(Buffer.from(secret).toString("base64"))).toBe(true);
    }
  });

  it("passes a text that has no more than an anchor", () => {
    expect(filterOf("key+of/the_house").mayHold("the lights in the_house")).toBe(false);
    expect(filterOf("key+of/the_house").mayHold("key%2bof%2fthe_house")).toBe(true);
  });

  it("looks for one thing only where many secrets begin alike", () => {
    const ends = Array.from({ length: 500 }, (_, n) => `${1_000 + n}`.repeat(8));
    const secrets = ends.map((end) => `a-secret-of-one-session-of-this-server-${end}`);
    const patterns = secretPatterns(secrets.map(spellingsOf));
    // As they are, and in base64 behind none, one and two bytes.
    expect(patterns).toMatchObject({ anchors: { length: 4 }, anchored: { length: 1 }, others: [] });
    const filter = new SecretFilter(patterns);
    for (const secret of secrets) expect(filter.mayHold(`it is ${secret}`)).toBe(true);
    expect(filter.mayHold("a-secret-of-one-session-of-that-server")).toBe(false);
  });
});
