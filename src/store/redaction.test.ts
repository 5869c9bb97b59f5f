import { beforeEach, describe, expect, it } from "vitest";
import { ok } from "../core/result.ts";
import { MemoryBackend } from "./memory/store.ts";
import { type Redaction, redactCommit } from "./redaction.ts";
import {
  commitOf,
  keyOf,
  manifest,
  newSession,
  openMemoryStore,
  openSurface,
  record,
  snapshotOf,
} from "./sample.fixture.ts";
import { SecretGuard } from "./secret.ts";
import type { Commit, JournalEntry, SessionStore } from "./store.ts";

const SECRET = 'sk-"quoted"\\and-long';
/** The same rules for a value that an id may have in it. */
const ID_SECRET = "an-id-and-a-secret";

function guardOfBoth(): SecretGuard {
  const guard = new SecretGuard();
  guard.know(SECRET);
  guard.know(ID_SECRET);
  return guard;
}

const guard = guardOfBoth();
const said = (text: string) => JSON.stringify({ text });
const CLEAN = said("[redacted]");

function entry(change: Partial<JournalEntry> = {}): JournalEntry {
  return { journal: "audit", key: "k", sessionId: null, atMs: 1, text: "{}", ...change };
}

/** What only a caller without types can hand in. */
const untyped = (json: string) => JSON.parse(json);

describe("P11: a commit", () => {
  it("is redacted in events, messages, the folded turn and journals, and says where", () => {
    const commit = commitOf({
      afterEventId: 6,
      events: [said("fine"), said(`my ${SECRET} key`)],
      snapshot: snapshotOf({
        messages: [said(`key ${SECRET}.`), said("fine")],
        turn: { firstId: 7, lastId: 8, text: `[${said(SECRET)}]` },
      }),
      journal: [entry(), entry({ text: said(SECRET) })],
    });
    expect(redactCommit(commit, guard)).toMatchObject({
      ok: true,
      value: {
        where: ["events.8", "messages.0", "turn", "journal.1"],
        clean: {
          afterEventId: 6,
          events: [said("fine"), said("my [redacted] key")],
          snapshot: {
            messages: [said("key [redacted]."), said("fine")],
            turn: { firstId: 7, lastId: 8, text: `[${CLEAN}]` },
          },
          journal: [entry(), entry({ text: CLEAN })],
        },
      },
    });
  });

  it("is the very same if there was nothing to hide", () => {
    const turn = { firstId: 1, lastId: 1, text: "[]" };
    const snapshot = snapshotOf({ messages: [said("fine")], turn });
    const commit = commitOf({ events: [said("fine")], snapshot, journal: [entry()] });
    const looked = redactCommit(commit, guard);
    expect(looked).toMatchObject({ ok: true, value: { where: [] } });
    expect(looked.ok && looked.value.clean).toBe(commit);
  });

  it("is refused for slots, manifests, records and keys, by the path and never the value", () => {
    const sessionId = keyOf(`s-${ID_SECRET}`).sessionId;
    const slots = [
      { owner: "git", version: "1", payload: Buffer.from(`token=${JSON.stringify(SECRET)}`) },
      { owner: `of ${SECRET}`, version: "1", payload: Buffer.from("fine") },
      { owner: "hub", version: SECRET, payload: Buffer.from("fine") },
    ];
    const snapshot = snapshotOf({
      slots,
      removedSlots: ["fine", SECRET],
      manifest: manifest({ projectRoot: `/${SECRET}` }),
    });
    const commit = commitOf({
      record: record({ displayName: SECRET, parentSessionId: sessionId }),
      snapshot,
      journal: [entry({ key: `for ${SECRET}` }), entry({ sessionId })],
    });
    const refused = redactCommit(commit, guard);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "secret_leak" } });
    expect(refused.ok ? [] : String(refused.refusal.details.paths).split(", ")).toEqual([
      "record.displayName",
      "record.parentSessionId",
      "manifest.projectRoot",
      "removedSlots.1",
      "slots.git.payload",
      "slots.of [redacted].owner",
      "slots.hub.version",
      "journal.0.key",
      "journal.1.sessionId",
    ]);
    expect(JSON.stringify(refused)).not.toMatch(/quoted|an-id/);
  });
});

describe("P11: through a guarded store", () => {
  let backend: MemoryBackend;
  let guarded: SessionStore;
  let told: Redaction[] = [];
  beforeEach(async () => {
    told = [];
    backend = new MemoryBackend();
    guarded = await openSurface(backend, {
      guard,
      onRedacted: (redaction) => told.push(redaction),
    });
  });

  const key = keyOf("s1");
  const { holder } = newSession("s1");
  const bad = keyOf(`s-${ID_SECRET}`);
  const tenantId = untyped(`"${ID_SECRET}"`);
  const session = newSession("s1");
  const document = { kind: "k", key: "d", expectedVersion: 0, value: {} };
  const label = { ...holder, label: SECRET };
  const cut = { lastEventId: 1, epoch: "e", audit: [] };
  const leakyEntry = [entry({ key: SECRET })];

  it.each<[string, () => Promise<unknown>, string]>([
    ["create", () => guarded.create(bad, session), "sessionId"],
    ["create", () => guarded.create(key, { ...session, holder: label }), "holder.label"],
    ["create", () => guarded.create(key, { ...session, epoch: SECRET }), "epoch"],
    [
      "create",
      () => guarded.create(key, { ...session, record: record({ displayName: SECRET }) }),
      "record.displayName",
    ],
    [
      "create",
      () => guarded.create(key, { ...session, manifest: manifest({ storeId: SECRET }) }),
      "manifest.storeId",
    ],
    ["open", () => guarded.open(key, { ...holder, host: SECRET }, []), "holder.host"],
    ["open", () => guarded.open(key, { ...holder, bootId: SECRET }, []), "holder.bootId"],
    ["open", () => guarded.open(key, { ...holder, startedAt: SECRET }, []), "holder.startedAt"],
    ["open", () => guarded.open(key, holder, leakyEntry), "journal.0.key"],
    ["seize", () => guarded.seize(key, label, []), "holder.label"],
    ["commit", () => guarded.commit(key, 1, commitOf({ journal: leakyEntry })), "journal.0.key"],
    ["cutLog", () => guarded.cutLog(key, 1, { ...cut, epoch: SECRET }), "epoch"],
    ["cutLog", () => guarded.cutLog(key, 1, { ...cut, audit: leakyEntry }), "journal.0.key"],
    ["delete", () => guarded.delete(key, label, []), "holder.label"],
    ["delete", () => guarded.delete(key, holder, leakyEntry), "journal.0.key"],
    ["appendJournal", () => guarded.appendJournal(key.tenantId, leakyEntry), "journal.0.key"],
    ["appendJournal", () => guarded.appendJournal(tenantId, []), "tenantId"],
    [
      "writeDocument",
      () => guarded.writeDocument(key.tenantId, { ...document, value: { [SECRET]: 1 } }),
      "document.value.[redacted]",
    ],
    [
      "writeDocument",
      () => guarded.writeDocument(key.tenantId, { ...document, key: SECRET }),
      "document.key",
    ],
    ["writeDocument", () => guarded.writeDocument(tenantId, document), "tenantId"],
    [
      "writeDocument",
      () => guarded.writeDocument(key.tenantId, { ...document, entries: leakyEntry }),
      "journal.0.key",
    ],
    ["writeBlob", () => guarded.writeBlob(key.tenantId, Buffer.from(SECRET)), "blob"],
    ["writeBlob", () => guarded.writeBlob(tenantId, Buffer.from("fine")), "tenantId"],
  ])("%s refuses our own fields (%#)", async (_, write, paths) => {
    expect(await write()).toEqual({
      ok: false,
      refusal: { code: "secret_leak", details: { paths } },
    });
  });

  it("what was said is redacted, and whoever listens is told where", async () => {
    const written: unknown[] = [];
    const keep = (value: unknown) => written.push(value);
    backend.create = async (_, { commit }) => {
      keep(commit.events);
      return ok({ term: 1, revision: 0 });
    };
    backend.commit = async (_, __, { events }) => {
      keep(events);
      return ok({ revision: 0, lastEventId: 2 });
    };
    backend.appendJournal = async (_, entries) => {
      keep(entries.map(({ text }) => text));
      return ok(undefined);
    };
    backend.writeDocument = async (_, { entries }) => {
      keep(entries.map(({ text }) => text));
      return ok(1);
    };
    const commit = commitOf({ afterEventId: 0, events: [said(SECRET)] });
    await guarded.create(key, { ...session, commit });
    await guarded.commit(key, 1, { ...commit, afterEventId: 1 });
    await guarded.commit(key, 1, { ...commit, events: [said("fine")] });
    const leaky = [entry({ text: said(SECRET) })];
    await guarded.appendJournal(key.tenantId, leaky);
    await guarded.writeDocument(key.tenantId, { ...document, entries: leaky });
    expect(written).toEqual([[CLEAN], [CLEAN], [said("fine")], [CLEAN], [CLEAN]]);
    expect(told).toEqual([
      { ...key, where: ["events.1"] },
      { ...key, where: ["events.2"] },
      { tenantId: key.tenantId, sessionId: null, where: ["journal.0"] },
      { tenantId: key.tenantId, sessionId: null, where: ["journal.0"] },
    ]);
  });

  it("is read back as it was redacted", async () => {
    const real = await openMemoryStore({ guard });
    const commit = commitOf({ afterEventId: 0, events: [said(SECRET)] });
    expect(await real.create(key, { ...session, commit })).toMatchObject({ ok: true });
    expect(await real.readEvents(key, { after: 0, limit: 9 })).toMatchObject({
      value: { events: [{ id: 1, text: CLEAN }] },
    });
  });

  it("nothing is told of what was not written, and a listener can break nothing", async () => {
    const commit = commitOf({ afterEventId: 0, events: [said(SECRET)] });
    const refused = { refusal: { code: "session_not_found" } };
    expect(await guarded.commit(key, 1, commit)).toMatchObject(refused);
    expect(told).toEqual([]);
    backend.commit = async () => ok({ revision: 0, lastEventId: 1 });
    const broken = await openSurface(backend, {
      guard,
      onRedacted: () => {
        throw new Error("not listening");
      },
    });
    expect(await broken.commit(key, 1, commit)).toMatchObject({ ok: true });
  });

  it("a session that turned out to have a secret for a name can still be ended", async () => {
    expect(await guarded.close(bad, 1)).toMatchObject({ ok: true });
    const missing = { refusal: { code: "session_not_found" } };
    expect(await guarded.delete(bad, holder, [])).toMatchObject(missing);
  });

  it("what is not of the right shape is refused, and nothing is thrown", async () => {
    const nothing = untyped("null");
    const getter = {
      get token(): string {
        throw new Error("no");
      },
    };
    const odd: Commit = { ...commitOf({}), events: untyped('[["text"]]') };
    const answers = await Promise.all([
      guarded.create(nothing, nothing),
      guarded.create(key, { ...session, commit: nothing }),
      guarded.open(key, holder, nothing),
      guarded.open(key, holder, [nothing]),
      guarded.seize(nothing, nothing, nothing),
      guarded.commit(key, 1, nothing),
      guarded.commit(key, 1, untyped("{}")),
      guarded.commit(key, 1, odd),
      guarded.commit(key, 1, commitOf({ snapshot: untyped("{}") })),
      guarded.cutLog(key, 1, nothing),
      guarded.delete(key, holder, untyped("{}")),
      guarded.appendJournal(key.tenantId, nothing),
      guarded.writeDocument(key.tenantId, { ...document, value: getter }),
    ]);
    const invalid = { ok: false, refusal: { code: "invalid_store_input" } };
    expect(answers).toMatchObject(answers.map(() => invalid));
  });

  it("a backend that throws is unavailable, and does not tell the value either", async () => {
    const thrown = new Error(`cannot write ${SECRET}`);
    backend.commit = () => Promise.reject(thrown);
    backend.writeBlob = () => {
      throw thrown;
    };
    const unavailable = {
      ok: false,
      refusal: { code: "store_unavailable", details: { reason: "Error: cannot write [redacted]" } },
    };
    expect(await guarded.commit(key, 1, commitOf({}))).toEqual(unavailable);
    expect(await guarded.writeBlob(key.tenantId, Buffer.from("fine"))).toEqual(unavailable);
  });

  it("a store that is not active refuses before it scans", async () => {
    await guarded.deactivate();
    const refused = { refusal: { code: "store_unavailable" } };
    expect(await guarded.create(bad, session)).toMatchObject(refused);
  });
});
