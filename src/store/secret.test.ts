import { describe, expect, it } from "vitest";
import {
  commitOf,
  keyOf,
  manifest,
  newSession,
  openMemoryStore,
  record,
  snapshotOf,
} from "./sample.fixture.ts";
import { guardSecrets, redactCommit, SecretGuard } from "./secret.ts";

const SECRET = 'sk-"quoted"\\and-long';
const known: readonly string[] = [SECRET, "short"];
const guard = () => new SecretGuard(() => known);
const said = (text: string) => JSON.stringify({ text });

describe("P11: a secret that Fermata has resolved", () => {
  it("is redacted in events, messages, folded turns and journals, however JSON writes it", () => {
    const snapshot = snapshotOf({
      messages: [said(`key ${SECRET}.`)],
      turn: { firstId: 1, lastId: 1, text: `[${said(SECRET)}]` },
    });
    const commit = commitOf({ events: [{ id: 1, text: said(`my ${SECRET} key`) }], snapshot });
    const redacted = redactCommit(commit, guard());
    expect(redacted).toMatchObject({
      ok: true,
      value: {
        events: [{ id: 1, text: '{"text":"my [redacted] key"}' }],
        snapshot: {
          messages: ['{"text":"key [redacted]."}'],
          turn: { text: '[{"text":"[redacted]"}]' },
        },
      },
    });
  });

  it("is refused in slots, manifests and records, by its path and never its value", () => {
    const slots = [{ owner: "git", version: "1", payload: Buffer.from(`token=${SECRET}`) }];
    const snapshot = snapshotOf({ slots, manifest: manifest({ projectRoot: `/${SECRET}` }) });
    const commit = commitOf({ snapshot, record: record({ displayName: SECRET }) });
    const refused = redactCommit(commit, guard());
    expect(refused).toEqual({
      ok: false,
      refusal: {
        code: "secret_leak",
        details: { paths: "record.displayName, manifest.projectRoot, slots.git.payload" },
      },
    });
    expect(JSON.stringify(refused)).not.toContain("quoted");
  });

  it("of fewer than eight characters is a word, and left alone", () => {
    expect(guard().redact("a short word")).toBe("a short word");
  });

  it("is known from the moment it was resolved", () => {
    let values: readonly string[] = [];
    const late = new SecretGuard(() => values);
    expect(late.redact("longer-secret")).toBe("longer-secret");
    values = ["longer-secret"];
    expect(late.redact("a longer-secret!")).toBe("a [redacted]!");
  });

  it("that is part of a longer one does not uncover the rest of it", () => {
    const nested = new SecretGuard(() => NESTED);
    expect(nested.redact("password-and-more")).toBe("[redacted]");
  });

  it("reaches no store through its guard, by any door", async () => {
    const store = guardSecrets(await openMemoryStore(), guard());
    const key = keyOf("s1");
    const created = await store.create(key, newSession("s1"));
    const term = created.ok ? created.value.term : 0;
    const events = [{ id: 1, text: said(SECRET) }];
    expect(await store.commit(key, term, commitOf({ events }))).toMatchObject({ ok: true });
    expect(await store.readEvents(key, { after: 0, limit: 9 })).toMatchObject({
      value: { events: [{ id: 1, text: '{"text":"[redacted]"}' }] },
    });
    const leak = { ok: false, refusal: { code: "secret_leak" } };
    const value = { token: SECRET };
    const document = { kind: "k", key: "d", expectedVersion: 0, value };
    expect(await store.writeDocument(key.tenantId, document)).toMatchObject(leak);
    expect(await store.writeBlob(key.tenantId, Buffer.from(SECRET))).toMatchObject(leak);
    const audit = [
      { journal: "audit", key: SECRET, sessionId: null, atMs: 1, text: said(SECRET) } as const,
    ];
    await store.delete(key, audit);
    expect(
      await store.readJournal(key.tenantId, { journal: "audit", after: 0, limit: 9 }),
    ).toMatchObject({ value: [{ key: "[redacted]", text: '{"text":"[redacted]"}' }] });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const endless = { kind: "k", key: "e", expectedVersion: 0, value: cyclic };
    expect(await store.writeDocument(key.tenantId, endless)).toMatchObject({
      refusal: { code: "invalid_store_input" },
    });
    const named = newSession("s2", { record: record({ displayName: SECRET }) });
    expect(await store.create(keyOf("s2"), named)).toMatchObject(leak);
  });
});

const NESTED: readonly string[] = ["password", "password-and-more"];
