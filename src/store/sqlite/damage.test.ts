import { readFile, writeFile } from "node:fs/promises";
import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { allEntries, allEvents, refused, sessionState, value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import type { SessionStore } from "../store.ts";
import { type StoreWorld, withStore } from "./damage.fixture.ts";

const KEY = sample.keyOf("a");
const OTHER = sample.keyOf("b");
const { ACME } = sample;

/** A store that has been filled, shut, damaged in one place, and started again. */
async function afterDamage(
  damage: (db: Database.Database) => void,
  then: (store: SessionStore, world: StoreWorld) => Promise<void>,
) {
  await withStore(async (world) => {
    await value(world.start());
    await world.fill();
    await world.stop();
    world.tamper("acme", damage);
    await value(world.start());
    await then(world.store, world);
  });
}

/** One statement, which must hit as many rows as it is meant to. */
const hit =
  (sql: string, rows = 1) =>
  (db: Database.Database) => {
    expect(db.prepare(sql).run().changes).toBe(rows);
  };

const OF_A = "(SELECT number FROM sessions WHERE session_id = 'a')";

const RANGE = { after: 0, limit: 1_000 };
const AUDIT = { journal: "audit", ...RANGE } as const;
const LEDGER = { journal: "ledger", ...RANGE } as const;

describe("P6: a damaged slot", () => {
  const flipPayload = hit(
    `UPDATE slots SET payload = zeroblob(700) WHERE number = ${OF_A} AND owner = 'owner-1'`,
  );

  it("leaves its session to be opened with the others, and is named", async () => {
    await afterDamage(flipPayload, async (store) => {
      const opened = await value(store.open(KEY, sample.holder(), []));
      expect(opened.slots.map(({ owner }) => owner)).toEqual(["core", "owner-0", "owner-2"]);
      expect(opened.damagedSlots).toEqual(["owner-1"]);
      expect(await value(store.readSlots(KEY))).toEqual({
        slots: opened.slots,
        damagedSlots: ["owner-1"],
      });
    });
  });

  it("is mended by the next snapshot that writes it, and only by that", async () => {
    await afterDamage(flipPayload, async (store) => {
      const { term, record, manifest } = await value(store.open(KEY, sample.holder(), []));
      const { lastEventId: afterEventId, revision } = record;
      const write = (expectedRevision: number, owner: string) => {
        const slots = [sample.slot(owner, "written anew")];
        const snapshot = sample.snapshot(manifest, expectedRevision, { slots });
        return value(store.commit(KEY, term, sample.commit({ afterEventId, snapshot })));
      };
      await write(revision, "core");
      expect((await value(store.readSlots(KEY))).damagedSlots).toEqual(["owner-1"]);
      await write(revision + 1, "owner-1");
      const { slots, damagedSlots } = await value(store.readSlots(KEY));
      expect(damagedSlots).toEqual([]);
      const [mended] = slots.filter(({ owner }) => owner === "owner-1");
      expect(mended?.payload).toEqual(sample.bytes("written anew"));
    });
  });

  it("is missed when it is gone altogether", async () => {
    const lose = hit(`DELETE FROM slots WHERE number = ${OF_A} AND owner = 'owner-1'`);
    await afterDamage(lose, async (store) => {
      const { slots, damagedSlots } = await value(store.open(KEY, sample.holder(), []));
      expect(slots).toHaveLength(3);
      expect(damagedSlots).toHaveLength(1);
    });
  });
});

describe("49: what stands in a key is noticed when it changes:", () => {
  it.each([
    ["a document's kind", "UPDATE documents SET kind = 'tokem' WHERE key = 'b'"],
    ["a document's key", "UPDATE documents SET key = 'bb' WHERE key = 'b'"],
    ["a document's version", "UPDATE documents SET version = 99 WHERE key = 'b'"],
    ["a document's text", "UPDATE documents SET text = '{}' WHERE key = 'b'"],
    ["a document that is gone", "DELETE FROM documents WHERE key = 'b'"],
    ["the count of documents", "UPDATE counters SET value = 2 WHERE name = 'documents of token'"],
  ])("%s", async (_, sql) => {
    await afterDamage(hit(sql), async (store) => {
      await refused(store.listDocuments(ACME, "token", null), "session_corrupt");
      await value(store.readRecord(KEY));
    });
  });

  it("a document's new kind does not make it one of that kind", async () => {
    const move = hit("UPDATE documents SET kind = 'member' WHERE key = 'b'");
    await afterDamage(move, async (store) => {
      await refused(store.listDocuments(ACME, "member", null), "session_corrupt");
      await refused(store.readDocument(ACME, "member", "b"), "session_corrupt");
    });
  });

  it.each([
    ["the journal of an entry", "UPDATE journal SET journal = 'ledger', seq = 99 WHERE seq = 3", 2],
    ["an entry's number", "UPDATE journal SET seq = 99 WHERE seq = 3", 2],
    ["an entry's key", "UPDATE journal SET key = key || 'x' WHERE seq = 3", 2],
    ["an entry's session", "UPDATE journal SET session_id = 'z' WHERE seq = 3", 2],
    ["an entry's time", "UPDATE journal SET at_ms = 1 WHERE seq = 3", 2],
    ["an entry that is gone", "DELETE FROM journal WHERE seq = 3", 2],
    ["the last entry, gone", "DELETE FROM journal WHERE seq = 24", 2],
    ["how many there are", "UPDATE counters SET value = 25 WHERE name LIKE 'last entry%'", 2],
  ])("%s", async (_, sql, rows) => {
    const damage = sql.includes("'ledger'")
      ? hit(sql.replace("WHERE", "WHERE journal = 'audit' AND"))
      : hit(sql, rows);
    await afterDamage(damage, async (store) => {
      await refused(store.readJournal(ACME, AUDIT), "session_corrupt");
      await refused(store.readJournal(ACME, LEDGER), "session_corrupt");
    });
  });

  it("a counter that gives out terms: then none is given, and the rest can be read", async () => {
    const damage = hit("UPDATE counters SET value = 1 WHERE name = 'last term'");
    await afterDamage(damage, async (store) => {
      const before = await sessionState(store, KEY);
      await refused(store.open(KEY, sample.holder(), []), "session_corrupt");
      const manifest = sample.manifest(sample.keyOf("d"), store.contract.storeId);
      const create = store.create(sample.keyOf("d"), sample.newSession(manifest));
      await refused(create, "session_corrupt");
      expect(await sessionState(store, KEY)).toEqual(before);
    });
  });
});

describe("a log with damage in the middle of a run", () => {
  const TEXT = `UPDATE events SET text = replace(text, '"n":35', '"n":53')`;
  const RUN = `WHERE number = ${OF_A} AND last_id = 36`;

  /** Two more runs after the last snapshot, at 32: the first of them is then damaged. */
  async function damagedLog(
    damage: string,
    then: (store: SessionStore, term: number) => Promise<void>,
  ) {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      const { term } = await value(world.store.open(KEY, sample.holder("before"), []));
      for (const first of [33, 35, 37]) {
        const commit = sample.commit({ events: sample.events(first, 2) });
        await value(world.store.commit(KEY, term, commit));
      }
      await world.stop();
      world.tamper("acme", hit(damage));
      await value(world.start());
      await refused(world.store.readEvents(KEY, { after: 32, limit: 10 }), "session_corrupt");
      const opened = await value(world.store.open(KEY, sample.holder(), []));
      await then(world.store, opened.term);
    });
  }

  it("is mended by a cut before it, under a new epoch, and goes on from there", async () => {
    await damagedLog(`${TEXT} ${RUN}`, async (store, term) => {
      const cut = { lastEventId: 34, epoch: "after the cut", audit: [sample.entry("cut")] };
      await value(store.cutLog(KEY, term, cut));
      const page = await value(store.readEvents(KEY, { after: 32, limit: 10 }));
      expect(page).toMatchObject({ epoch: "after the cut", lastEventId: 34 });
      expect(page.events).toEqual(sample.events(33, 2));
      const commit = sample.commit({ events: sample.events(35, 1) });
      await value(store.commit(KEY, term, commit));
      expect((await allEvents(store, KEY)).at(-1)).toEqual(sample.event(35));
      expect((await allEntries(store, ACME, "audit")).at(-1)?.key).toBe("cut");
    });
  });

  it.each([
    ["its text", `${TEXT} ${RUN}`],
    ["where it begins", `UPDATE events SET first_id = 36 ${RUN}`],
    ["its lengths", `UPDATE events SET lengths = '1,2' ${RUN}`],
  ])("cannot be cut within the damage, whatever of it is damaged: %s", async (_, sql) => {
    await damagedLog(sql, async (store, term) => {
      const cut = { lastEventId: 35, epoch: "never", audit: [sample.entry("never")] };
      await refused(store.cutLog(KEY, term, cut), "session_corrupt");
      expect((await value(store.readRecord(KEY))).epoch).toBe("epoch-1");
      expect((await allEntries(store, ACME, "audit")).at(-1)?.key).not.toBe("never");
    });
  });
});

describe("a damaged session that is deleted", () => {
  it.each([
    ["its record", "UPDATE sessions SET revision = 99 WHERE session_id = 'a'"],
    ["the end of its log", "UPDATE sessions SET last_event_id = 99 WHERE session_id = 'a'"],
    ["its holder", "UPDATE sessions SET holder = '{' WHERE session_id = 'a'"],
  ])("is gone, and no other with it: %s", async (_, sql) => {
    await afterDamage(hit(sql), async (store, world) => {
      const other = await sessionState(store, OTHER);
      await refused(store.open(KEY, sample.holder(), []), "session_corrupt");
      await value(store.delete(KEY, sample.holder(), [sample.entry("deleted")]));
      await refused(store.readRecord(KEY), "session_not_found");
      const { sessions, damaged } = await value(store.list(ACME, {}, { limit: 9, cursor: null }));
      expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(["b", "c"]);
      expect(damaged).toEqual([]);
      expect(await sessionState(store, OTHER)).toEqual(other);
      expect((await allEntries(store, ACME, "audit")).at(-1)?.key).toBe("deleted");
      await world.stop();
      world.tamper("acme", (db) => {
        for (const table of ["events", "turns", "messages", "slots"]) {
          const left = db.prepare(`SELECT DISTINCT number FROM ${table} ORDER BY number`).all();
          expect(left).toEqual([{ number: 2 }, { number: 3 }]);
        }
      });
    });
  });

  it("stays, if not even its number can be believed: it may be another's", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      await world.stop();
      // The index of ids says "b" and then 2, its number; with another number it leads to "c".
      const bytes = await readFile(world.file("acme"));
      const entry = bytes.indexOf(Buffer.from([5, 3, 0x0f, 1, 0x62, 2]));
      expect(entry).toBeGreaterThan(0);
      bytes.writeUInt8(3, entry + 5);
      await writeFile(world.file("acme"), bytes);
      await value(world.start());
      const { store } = world;
      const third = await sessionState(store, sample.keyOf("c"));
      await refused(store.readRecord(OTHER), "session_corrupt");
      await refused(store.delete(OTHER, sample.holder(), []), "session_corrupt");
      expect(await sessionState(store, sample.keyOf("c"))).toEqual(third);
    });
  });
});
