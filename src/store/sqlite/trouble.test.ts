import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { Result } from "../../core/result.ts";
import { itWhere } from "../../platform/machine.fixture.ts";
import { refused, sessionState, value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import type * as S from "../store.ts";
import {
  damagedCopy,
  flipped,
  isAsIn,
  type Observed,
  observe,
  SESSIONS,
  StoreWorld,
  withStore,
  wrongParts,
} from "./damage.fixture.ts";
import { remount, whyNoDisks, withDisk } from "./disk.fixture.ts";

const DB = "sessions.db";
const WAL = "sessions.db-wal";
const KEY = sample.keyOf("a");

/** How many places of a file are damaged; `FERMATA_FLIPS=4000` looks at many more. */
const FLIPS = Number(process.env.FERMATA_FLIPS ?? 250);
const FLIP_MS_MAX = 200;
const TEST_MS_MAX = Math.max(60_000, FLIPS * FLIP_MS_MAX);

type Change = (bytes: Buffer) => Buffer;

/** Bits all over the file, and lengths all over it. */
function damages(length: number, count: number): readonly Change[] {
  return Array.from({ length: count }, (_, index) => {
    const place = Math.floor(((index + 0.5) * length) / count);
    const isCut = index % 8 === 0;
    return (bytes) => (isCut ? bytes.subarray(0, place) : flipped(bytes, place, (index * 5) % 8));
  });
}

/** Damages a file in many ways, each in a copy: nothing that can be read may be wrong. */
async function endures(world: StoreWorld, name: string, states: readonly Observed[]) {
  await world.keep("acme");
  const { length } = await readFile(join(world.kept, name));
  const faults: string[] = [];
  for (const [index, change] of damages(length, FLIPS).entries()) {
    const tenant = `t${index}`;
    await damagedCopy(world, tenant, name, change);
    const found = await faultsOf(world, tenant, states);
    faults.push(...found.map((fault) => `damage ${index} of ${FLIPS} of ${name}: ${fault}`));
    await rm(world.folder(tenant), { recursive: true });
  }
  expect(faults).toEqual([]);
  await value(world.store.appendJournal(sample.ACME, [sample.entry("still at work")]));
}

/** What of a damaged tenant is wrong without being noticed. */
async function faultsOf(world: StoreWorld, tenant: string, states: readonly Observed[]) {
  const tenantId = sample.tenantId(tenant);
  const before = await readFile(world.file(tenant, DB));
  const seen = await observe(world.store, tenantId);
  const faults = codesOf(seen);
  const fits = states.some((state) => isAsIn(seen, state));
  if (!fits) faults.push(`wrong: ${wrongParts(seen, states.at(-1) ?? {})}`);
  const after = await readFile(world.file(tenant, DB));
  if (!after.equals(before)) faults.push("reading has changed the file");
  return [...faults, ...(await dishonesties(world, tenantId, seen))];
}

const TYPED = [
  "session_corrupt",
  "store_unavailable",
  "session_not_found",
  "blob_not_found",
  "resume_mismatch",
];

/** Refusals with a code that does not belong here. */
function codesOf(seen: Observed): string[] {
  const codes = Object.values(seen).flatMap((part) => (part.ok ? [] : [part.refusal.code]));
  return codes.filter((code) => !TYPED.includes(code));
}

/** A session that is damaged is either refused or goes on from what was seen of it. */
async function dishonesties(world: StoreWorld, tenantId: typeof sample.ACME, seen: Observed) {
  const faults: string[] = [];
  for (const id of SESSIONS) {
    const opened = await world.store.open(sample.keyOf(id, tenantId), sample.holder(), []);
    if (!opened.ok) {
      const { code } = opened.refusal;
      if (!TYPED.includes(code)) faults.push(`${id} was refused with ${code}`);
      continue;
    }
    const { term: _, holder: __, ...record } = opened.value.record;
    const known = seen[`${id} record`];
    const same =
      known?.ok && isDeepStrictEqual({ ...(known.value as object), ...record }, known.value);
    if (!same) faults.push(`${id} was opened as something else`);
  }
  return faults;
}

describe("the SQLite store's files, damaged", () => {
  it(
    "49, 50: after a clean end nothing wrong is read, nothing overwritten",
    async () => {
      await withStore(async (world) => {
        await value(world.start());
        const states = await world.fill();
        await world.stop();
        await value(world.start());
        await endures(world, DB, states.slice(-1));
      });
    },
    TEST_MS_MAX,
  );

  it(
    "49, 50: after a crash the log's damage gives older states, whole",
    async () => {
      await withStore(async (world) => {
        await value(world.start());
        const states = await world.fill();
        await endures(world, WAL, states);
      });
    },
    TEST_MS_MAX,
  );

  it("58: a log that was cut short in its last record ends with the one before", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      const { term } = await value(world.store.open(KEY, sample.holder(), []));
      await value(append(world, term, 2));
      const before = await sessionState(world.store, KEY);
      await value(append(world, term, 3));
      await world.keep("acme");
      const torn = sample.keyOf("a", sample.GLOBEX);
      await damagedCopy(world, "globex", WAL, (bytes) => bytes.subarray(0, bytes.length - 100));
      expect(await sessionState(world.store, torn)).toEqual(before);
      const opened = await value(world.store.open(torn, sample.holder(), []));
      const commit = sample.commit({ events: sample.events(before.record.lastEventId + 1, 1) });
      await value(world.store.commit(torn, opened.term, commit));
    });
  });

  it("47: what a crash left is cleared away, and nothing that is not ours", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      const before = await sessionState(world.store, KEY);
      await world.stop();
      const draft = `${DB}.${randomUUID()}`;
      const theirs = [`${DB}.${randomUUID()}`, `${DB}.bak`, `${DB}.2026-11-15`];
      const old = new Date(Date.now() - 3_600_000);
      for (const name of [draft, `${draft}-wal`, ...theirs]) {
        await writeFile(world.file("acme", name), "half a da");
        // One that is fresh may be at work in another process.
        if (name !== theirs[0]) await utimes(world.file("acme", name), old, old);
      }
      await value(world.start());
      expect(await sessionState(world.store, KEY)).toEqual(before);
      await value(world.store.appendJournal(sample.ACME, [sample.entry("opened")]));
      await world.stop();
      expect((await readdir(world.folder("acme"))).sort()).toEqual([DB, ...theirs].sort());
    });
  });

  it("49: an emptied file is damage, not a new store", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      await world.stop();
      await truncate(world.file("acme"), 0);
      await value(world.start());
      await refused(world.store.readRecord(KEY), "session_corrupt");
      await refused(world.store.open(KEY, sample.holder(), []), "session_corrupt");
      await refused(world.store.appendJournal(KEY.tenantId, []), "session_corrupt");
      expect(await readFile(world.file("acme"))).toHaveLength(0);
    });
  });

  it("P8: one tenant's damage leaves the others at work", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      await world.stop();
      await world.keep("acme");
      await damagedCopy(world, "globex", DB, (bytes) => Buffer.alloc(bytes.length, 7));
      await value(world.start());
      const bad = sample.keyOf("a", sample.GLOBEX);
      for (let tried = 0; tried < 3; tried += 1) {
        await refused(world.store.open(bad, sample.holder(), []), "session_corrupt");
        await refused(world.store.readRecord(bad), "session_corrupt");
        const opened = await value(world.store.open(KEY, sample.holder(), []));
        await value(world.store.close(KEY, opened.term));
      }
    });
  });

  it("70: one damaged session does not hide the others in a list", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      await world.stop();
      const mark = Buffer.from("b-7");
      const file = world.file("acme");
      const bytes = await readFile(file);
      for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
        bytes.write("B", at);
      }
      await writeFile(file, bytes);
      await value(world.start());
      const page = { limit: 10, cursor: null };
      const { sessions, damaged } = await value(world.store.list(sample.ACME, {}, page));
      expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(["a", "c"]);
      expect(damaged.map(({ sessionId }) => sessionId)).toEqual(["b"]);
    });
  });
});

async function append(world: StoreWorld, term: number, events: number) {
  const { lastEventId } = await value(world.store.readRecord(KEY));
  const commit = sample.commit({ events: sample.events(lastEventId + 1, events) });
  return world.store.commit(KEY, term, commit);
}

/** No caller may be told that there is nothing where the store cannot look. */
function eachWay(store: S.SessionStore, term: number): readonly (() => Promise<Result<unknown>>)[] {
  const { tenantId } = KEY;
  const holder = sample.holder();
  const commit = sample.commit({ events: sample.events(33, 1) });
  const cut = { lastEventId: 32, epoch: "cut", audit: [] };
  const all = { after: 0, limit: 10 };
  return [
    () => store.readRecord(KEY),
    () => store.readEvents(KEY, all),
    () => store.list(tenantId, {}, { limit: 10, cursor: null }),
    () => store.readJournal(tenantId, { journal: "audit", ...all }),
    () => store.listDocuments(tenantId, "token", null),
    () => store.readDocument(tenantId, "token", "a"),
    () => store.commit(KEY, term, commit),
    () => store.open(KEY, holder, []),
    () => store.cutLog(KEY, term, cut),
    () => store.delete(KEY, holder, []),
    () => store.close(KEY, term),
    () => store.appendJournal(tenantId, [sample.entry("lost")]),
    () => store.writeBlob(tenantId, sample.bytes("lost")),
  ];
}

describe("the SQLite store's directory, gone", () => {
  it.each([
    ["the whole of it", (world: StoreWorld) => world.path],
    ["a tenant's folder", (world: StoreWorld) => world.folder("acme")],
    ["a tenant's database", (world: StoreWorld) => world.file("acme")],
  ])("41: %s: a type, no new file in its place, and all is well again after", async (_, pick) => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      const { term } = await value(world.store.open(KEY, sample.holder(), []));
      const before = await sessionState(world.store, KEY);
      const path = pick(world);
      await rename(path, `${path}.away`);
      for (let tried = 0; tried < 3; tried += 1) {
        for (const act of eachWay(world.store, term)) await refused(act(), "store_unavailable");
      }
      expect(await readdir(join(path, "..")).then((names) => names.join())).not.toMatch(
        /(?:^|,)(?:data|acme|sessions\.db)(?:,|$)/,
      );
      await rename(`${path}.away`, path);
      expect(await sessionState(world.store, KEY)).toEqual(before);
      await value(append(world, term, 1));
    });
  });
});

const noDisks = await whyNoDisks();
const onDisk = (title: string, megabytes: number, work: (disk: string) => Promise<void>) =>
  itWhere(noDisks, title, () => withDisk(megabytes, work), TEST_MS_MAX);

describe("the SQLite store's disk", () => {
  onDisk(
    "46: when it is full, writes are refused and all that was there stays",
    4,
    async (disk) => {
      const world = new StoreWorld(join(disk, "data"));
      try {
        await value(world.start());
        await world.fill();
        await writeFile(join(disk, "ballast"), Buffer.alloc(1_000_000));
        const { term } = await value(world.store.open(KEY, sample.holder(), []));
        const slots = [sample.slot("large", new Uint8Array(100_000))];
        let acknowledged = await sessionState(world.store, KEY);
        let fullness: string | null = null;
        for (let tries = 0; tries < 200 && fullness === null; tries += 1) {
          const manifest = sample.manifest(KEY, world.store.contract.storeId, { updatedAt: tries });
          const snapshot = sample.snapshot(manifest, acknowledged.record.revision, { slots });
          const { lastEventId: afterEventId } = acknowledged.record;
          const commit = sample.commit({ afterEventId, snapshot });
          const done = await world.store.commit(KEY, term, commit);
          if (done.ok) acknowledged = await sessionState(world.store, KEY);
          else fullness = `${done.refusal.code}: ${done.refusal.details.reason}`;
        }
        expect(fullness).toMatch(/^store_unavailable: .*(?:full|space|disk)/);
        expect(await sessionState(world.store, KEY)).toEqual(acknowledged);
        await rm(join(disk, "ballast"));
        await value(append(world, term, 1));
        await world.stop();
        await value(world.start());
        const { record } = await sessionState(world.store, KEY);
        expect(record.lastEventId).toBe(acknowledged.record.lastEventId + 1);
      } finally {
        await world.stop();
      }
    },
  );

  onDisk("17: when it is read-only, the store says so and changes nothing", 4, async (disk) => {
    const world = new StoreWorld(join(disk, "data"));
    try {
      await value(world.start());
      await world.fill();
      const before = await sessionState(world.store, KEY);
      await world.stop();
      await remount(disk, "ro");
      const { details } = await refused(world.start(), "store_unavailable");
      expect(details.reason).toMatch(/make its directory writable/);
      await remount(disk, "rw");
      await value(world.start());
      expect(await sessionState(world.store, KEY)).toEqual(before);
    } finally {
      await world.stop();
    }
  });
});
