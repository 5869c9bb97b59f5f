import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretGuard } from "./secret.ts";
import { formsOf } from "./secret-spelling.ts";

const MARK = "[redacted]";

const SECRETS = [
  "sk-ant-api03-abcDEF_0123456789",
  "key+of/ada?do&not=tell",
  'a "quoted" one \\ with spaces',
  "pässwörd-ключ-🔑",
  "12345678",
];

function guardOf(...secrets: readonly string[]): SecretGuard {
  const guard = new SecretGuard();
  for (const secret of secrets) guard.know(secret);
  return guard;
}

describe.each(SECRETS)("P11: the secret %j", (secret) => {
  const guard = guardOf(secret);

  it("is redacted in every form in which its beginning is looked for", () => {
    for (const form of formsOf(secret)) {
      expect(guard.redact(`<${form}>`)).toBe(`<${MARK}>`);
      expect(guard.leaks({ form })).toEqual(["form"]);
    }
  });

  it("is redacted percent-encoded, in either case and as forms of web pages have it", () => {
    const encoded = encodeURIComponent(secret);
    const ofForm = new URLSearchParams({ key: secret }).toString().slice("key=".length);
    for (const text of [encoded, encoded.replace(/%../g, (one) => one.toLowerCase()), ofForm]) {
      expect(guard.redact(`https://host/?key=${text}&a=1`)).toBe(`https://host/?key=${MARK}&a=1`);
    }
  });

  it.each(["", "a", "ab", "abc", "user:"])("is redacted in base64, behind %j", (before) => {
    const bytes = Buffer.from(`${before}${secret}, and more`);
    for (const encoding of ["base64", "base64url"] as const) {
      const clean = guard.redact(`it is ${bytes.toString(encoding)}`);
      expect(clean).toContain(MARK);
      const [, rest = ""] = clean.split(MARK);
      expect(Buffer.from(rest, encoding).toString()).not.toContain(secret.slice(-4));
      expect(guard.redact(clean)).toBe(clean);
    }
  });

  it("is open at the end of a text that ends with a part of it, and not where it is whole", () => {
    for (const form of formsOf(secret)) {
      for (let at = 1; at < form.length; at += 1) {
        expect(guard.openTail(`see: ${form.slice(0, at)}`)).toBeGreaterThanOrEqual(at);
      }
      expect(guard.openTail(`see: ${form}`)).toBe(0);
      expect(guard.openTail(`see: ${form}.`)).toBe(0);
    }
  });
});

describe("P11: the end of a text", () => {
  it("that begins no secret is not held, whatever the text is", () => {
    const guard = guardOf("sk-abc-123", "ключ-от-всех-дверей");
    expect(guard.openTail("")).toBe(0);
    expect(guard.openTail("this is it")).toBe(0);
    expect(guard.openTail("files")).toBe(1);
    expect(guard.openTail("это к")).toBe(1);
    expect(guard.openTail("это ко")).toBe(0);
    expect(new SecretGuard().openTail("sk-abc")).toBe(0);
  });

  it("is as long as the longest beginning, also of secrets that begin alike", () => {
    const guard = guardOf("abcabcabc-1", "abcabc-2-and-more");
    expect(guard.openTail("xabcabc")).toBe(6);
    expect(guard.openTail("abcabcabc")).toBe(9);
    expect(guard.openTail("abcabc-2")).toBe(8);
    guard.forget("abcabc-2-and-more");
    expect(guard.openTail("abcabc-2")).toBe(0);
  });

  it("P11: is a whole secret too, if that begins a longer one", () => {
    const guard = guardOf("abcdefgh", "abcdefghIJKL");
    expect(guard.openTail("x abcdefgh")).toBe(8);
    expect(guard.openTail("x abcdefghIJ")).toBe(10);
    expect(guard.openTail("x abcdefghIJKL")).toBe(0);
    expect(guard.openTail("x abcdefgh y")).toBe(0);
  });

  it("P11: does not cut a whole secret that ends as another begins", () => {
    const guard = guardOf("abcdefgh", "ghIJKLMN", "hello-to-you");
    expect(guard.openTail("x abcdefgh")).toBe(0);
    expect(guard.openTail("x abcdefghh")).toBe(1);
  });

  it("has where a secret ends that goes over a border", () => {
    const guard = guardOf("sk-abc-123");
    expect(guard.endAcross("sk-abc-123!", 4)).toBe(10);
    expect(guard.endAcross("sk-abc-123!", 10)).toBeNull();
    expect(guard.endAcross("!sk-abc-123", 1)).toBeNull();
  });

  it("P11: holds enough, however a text is cut in two", () => {
    const unit = fc.constantFrom(..."abs-12+/ %");
    const texts = fc.string({ unit, maxLength: 12 });
    const secrets = fc.string({ unit, minLength: 8, maxLength: 24 });
    const property = fc.property(texts, secrets, texts, fc.nat(), (before, secret, after, cut) => {
      const guard = guardOf(secret);
      const whole = before + secret + after;
      const at = cut % whole.length;
      const sent = whole.slice(0, at - guard.openTail(whole.slice(0, at)));
      expect(guard.redact(sent) + guard.redact(whole.slice(sent.length))).not.toContain(secret);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
