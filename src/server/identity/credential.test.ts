import { describe, expect, it } from "vitest";
import { tenant } from "./identity.fixture.ts";
import {
  credentialText,
  freshSecret,
  freshTokenId,
  hashOfSecret,
  isSecretOf,
  parseCredential,
} from "./tokens.ts";

const ID = "0123456789abcdef";
const SECRET = "ab".repeat(32);

describe("the text of a token", () => {
  it.each(["local", "a_b", "_", "a_0123456789abcdef", "x".repeat(128), "fmt_x"])(
    "names its tenant %s, itself, and its secret",
    (name) => {
      const credential = { tenantId: tenant(name), tokenId: ID, secret: SECRET };
      expect(parseCredential(credentialText(credential))).toEqual(credential);
    },
  );

  it.each([
    "",
    "fmt_",
    `fmt__${ID}_${SECRET}`,
    `fmt_local_${ID}_${SECRET}x`,
    `fmt_local_${ID}_${SECRET.toUpperCase()}`,
    `fmt_local_${ID.slice(1)}_${SECRET}`,
    `fmt_.._${ID}_${SECRET}`,
    `fmt_a/b_${ID}_${SECRET}`,
    `fmt_a b_${ID}_${SECRET}`,
    `FMT_local_${ID}_${SECRET}`,
    `fmt_${"x".repeat(129)}_${ID}_${SECRET}`,
    ` fmt_local_${ID}_${SECRET}`,
  ])("is not %j", (text) => {
    expect(parseCredential(text)).toBeNull();
  });
});

describe("a secret", () => {
  it("is another each time, and fits the shape of a token", () => {
    const texts = Array.from({ length: 50 }, () => {
      const credential = { tokenId: freshTokenId(), secret: freshSecret() };
      return credentialText({ tenantId: tenant("t"), ...credential });
    });
    expect(new Set(texts).size).toBe(50);
    expect(texts.every((text) => parseCredential(text) !== null)).toBe(true);
  });

  it("is known by its hash, and no other is", () => {
    expect(isSecretOf(SECRET, hashOfSecret(SECRET))).toBe(true);
    expect(isSecretOf(`${SECRET.slice(1)}0`, hashOfSecret(SECRET))).toBe(false);
    expect(isSecretOf(SECRET, null)).toBe(false);
    expect(isSecretOf(SECRET, "")).toBe(false);
    expect(isSecretOf(SECRET, SECRET)).toBe(false);
  });
});
