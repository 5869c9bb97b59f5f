import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretGuard } from "./secret.ts";

function guardOf(...secrets: readonly string[]): SecretGuard {
  const guard = new SecretGuard();
  for (const secret of secrets) expect(guard.know(secret)).toMatchObject({ ok: true });
  return guard;
}

const MARK = "[redacted]";

describe("P11: a secret that Fermata has resolved", () => {
  it("is redacted in a text, and the text is the very same if it has none", () => {
    const guard = guardOf("sk-abc-123", "another-one");
    expect(guard.redact("my sk-abc-123 key")).toBe("my [redacted] key");
    expect(guard.redact("another-one, sk-abc-123!")).toBe("[redacted], [redacted]!");
    expect(guard.redact("sk-abc-12 is only a part")).toBe("sk-abc-12 is only a part");
  });

  it("of fewer than eight characters is a word, and left alone", () => {
    expect(guardOf("short").redact("a short word")).toBe("a short word");
    expect(guardOf("short").leaks({ word: "short" })).toEqual([]);
  });

  it("is known from the moment it was told until all have taken it back", () => {
    const guard = new SecretGuard();
    expect(guard.redact("longer-secret")).toBe("longer-secret");
    guard.know("longer-secret");
    guard.know("longer-secret");
    expect(guard.redact("a longer-secret!")).toBe("a [redacted]!");
    guard.forget("longer-secret");
    expect(guard.redact("a longer-secret!")).toBe("a [redacted]!");
    guard.forget("longer-secret");
    guard.forget("longer-secret");
    expect(guard.redact("a longer-secret!")).toBe("a longer-secret!");
  });

  it("is one of a bounded number, and of bounded length", () => {
    const guard = guardOf(
      ...Array.from({ length: 1_024 }, (_, index) => `secret-number-${index}.`),
    );
    expect(guard.redact("of secret-number-777. only")).toBe("of [redacted] only");
    const refused = { ok: false, refusal: { code: "invalid_store_input" } };
    expect(guard.know("one-too-many")).toMatchObject(refused);
    expect(guard.know("secret-number-3.")).toMatchObject({ ok: true });
    expect(new SecretGuard().know("x".repeat(64 * 1_024 + 1))).toMatchObject(refused);
    expect(new SecretGuard().know(JSON.parse("12345678"))).toMatchObject(refused);
  });

  it("that overlaps another does not uncover the rest of it", () => {
    expect(guardOf("password", "password-and-more").redact("password-and-more")).toBe(MARK);
    expect(guardOf("my-password", "password-and-more").redact("my-password-and-more")).toBe(MARK);
    expect(guardOf("abcabcab").redact("xabcabcabcabx")).toBe("x[redacted]x");
  });

  it("cannot be our own mark, so that what is redacted stays as it is", () => {
    const guard = guardOf("redacted", "sk-abc-123");
    expect(guard.redact(guard.redact("sk-abc-123"))).toBe(MARK);
  });
});

/** How JSON is written elsewhere: what each program escapes by number, and in which digits. */
const ENCODERS: Readonly<Record<string, (text: string) => string>> = {
  JavaScript: (text) => JSON.stringify(text).slice(1, -1),
  Python: (text) => encoded(text, /[\u007f-\uffff]/),
  Go: (text) => encoded(text, /[<>&\u2028\u2029]/),
  PHP: (text) => encoded(text, /[\u0080-\uffff]/).replaceAll("/", "\\/"),
  ".NET": (text) => encoded(text, /["<>&'+`\u007f-\uffff]/, true),
};

function encoded(text: string, byNumber: RegExp, inCapitals = false): string {
  const units = text.split("").map((unit) => {
    if (!byNumber.test(unit)) return JSON.stringify(unit).slice(1, -1);
    const digits = unit.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${inCapitals ? digits.toUpperCase() : digits}`;
  });
  return units.join("");
}

describe("P11: a secret in JSON", () => {
  const SECRETS = [
    'sk-"quoted"\\and-long',
    "-----BEGIN KEY-----\nMIIE+/=\n\tAB\r\n-----END KEY-----\n",
    "https://me:pass@host/path?a=1&b=<2>",
    "pässwörd-ключ-🔑",
    "C:\\\\share\\new\\",
    '\\"\\"\\"\\"',
    "////////",
  ];

  describe.each(Object.entries(ENCODERS))("as %s writes it", (_, encode) => {
    it.each(SECRETS)("is found once, twice and three times escaped: %j", (secret) => {
      const guard = guardOf(secret);
      let inner = encode(secret);
      for (let level = 1; level <= 3; level += 1) {
        const clean = guard.redact(`{"text":"see ${inner}|"}`);
        expect(JSON.parse(clean)).toEqual({ text: `see ${MARK}|` });
        expect(guard.leaks(inner, "it")).toEqual(["it"]);
        inner = JSON.stringify(inner).slice(1, -1);
      }
    });
  });

  it("leaves JSON behind, whatever the secret and however deep it stands", () => {
    const unit = fc.constantFrom(...'ab"\\/\n\té😀{},:1');
    const texts = fc.string({ unit });
    const secrets = fc.string({ unit, minLength: 8, maxLength: 80 });
    const levels = fc.integer({ min: 0, max: 2 });
    const property = fc.property(texts, secrets, texts, levels, (before, secret, after, level) => {
      let said = before + secret + after;
      for (let at = 0; at < level; at += 1) said = JSON.stringify({ said });
      const guard = guardOf(secret);
      const clean: unknown = JSON.parse(guard.redact(JSON.stringify({ said, n: 1 })));
      expect(clean).toMatchObject({ n: 1, said: expect.stringContaining(MARK) });
      expect(guard.leaks(clean)).toEqual([]);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it("does not take the quote with it that ends a string", () => {
    const guard = guardOf("secret-\\");
    expect(guard.redact('["secret-\\"","secret-\\\\"]')).toBe('["secret-\\"","[redacted]"]');
    expect(guardOf('"abcdefgh"}').redact('{"k":"abcdefgh"}')).toBe('{"k":"abcdefgh"}');
  });

  it("is redacted in keys, and as a number only if it is the whole number", () => {
    const guard = guardOf("12345678", "secret-key");
    const text = '{"a secret-key":1,"at":1712345678901,"pin":12345678,"in":"x12345678"}';
    expect(guard.redact(text)).toBe(
      '{"a [redacted]":1,"at":1712345678901,"pin":"[redacted]","in":"x[redacted]"}',
    );
    const untouched = '{"at": 1712345678901}';
    expect(guard.redact(untouched)).toBe(untouched);
  });

  it("is hidden with all that is nested too deeply to be looked through", () => {
    const text = `${"[".repeat(50_000)}"sk-abc-123"${"]".repeat(50_000)}`;
    const clean = guardOf("sk-abc-123").redact(text);
    expect(clean).toContain(MARK);
    expect(clean).not.toContain("sk-abc-123");
  });

  it("may be as long as any key, and of nothing but what is escaped", () => {
    const long = `-----BEGIN-----\n${'é/"\n'.repeat(16_000)}`;
    const guard = guardOf(long);
    const text = JSON.stringify({ inner: JSON.stringify([long]) });
    expect(guard.redact(text)).toBe('{"inner":"[\\"[redacted]\\"]"}');
    expect(guard.redact(`${long.slice(0, -1)}?`)).toBe(`${long.slice(0, -1)}?`);
  });

  it("P10: costs a text's length, also where all of it looks like a beginning", () => {
    const guard = guardOf('"\\"\\"\\"-the-end', "aaaaaaaaaaaaaaab");
    const slashes = "\\".repeat(500_000);
    expect(guard.redact(slashes)).toBe(slashes);
    const many = "a".repeat(500_000);
    expect(guard.redact(many)).toBe(many);
  });
});

describe("P11: what has leaked", () => {
  const SECRET = "sk-abc-123";
  const guard = guardOf(SECRET, "12345678");

  it("is named by its path, in texts, bytes, numbers and keys", () => {
    const value = {
      list: ["fine", { token: `x${SECRET}` }],
      bytes: Buffer.from(`token=${SECRET}`),
      pin: 12345678,
      [`of ${SECRET}`]: "fine",
    };
    expect(guard.leaks(value, "value")).toEqual([
      "value.bytes",
      "value.pin",
      "value.of [redacted]",
      "value.list.1.token",
    ]);
  });

  it("is not shown by its path, not even where names join to it", () => {
    const joined = guardOf("alpha.beta", "in-the-leaf");
    const paths = joined.leaks({ alpha: { beta: "in-the-leaf" } }, "value");
    expect(paths).toEqual(["value.[redacted]"]);
    const [long] = guardOf(SECRET).leaks({ [`${"x".repeat(250)}${SECRET}`]: 1 });
    expect(long).toBe(`${"x".repeat(250)}[redac`);
  });

  it("P10: is looked for once in what contains itself, and named a bounded number of times", () => {
    const cyclic: Record<string, unknown> = { token: SECRET };
    cyclic.self = cyclic;
    let twins: unknown = cyclic;
    for (let depth = 0; depth < 200; depth += 1) twins = [twins, twins];
    expect(guard.leaks(twins)).toHaveLength(1);
    expect(guard.leaks(Array.from({ length: 1_000 }, () => SECRET))).toHaveLength(16);
  });
});
