import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Holder, thisHolder } from "../../store/holder.ts";
import { value } from "../../store/kit/expect.ts";
import { commitOf, HOST, keyOf, manifest, newSession } from "../../store/sample.fixture.ts";
import { databaseFile } from "../../store/sqlite/database.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";
import { repair } from "./repair.ts";
import { seize } from "./seize.ts";

const KEY = keyOf("s1");
const AWAY: Holder = { ...thisHolder("server"), host: "elsewhere", bootId: "another", pid: 42 };

class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<DataFolder> {
    const folder = await mkdtemp(join(tmpdir(), "fermata-stored-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return new DataFolder(folder);
  }

  async open(): Promise<SessionStore> {
    const store = sqliteStore();
    onTestFinished(async () => void (await store.dispose()));
    await value(store.init(HOST, { active: true, path: join(this.path, "sessions") }));
    await value(store.activate());
    return store;
  }

  tamper(sql: string) {
    const db = new Database(databaseFile(join(this.path, "sessions"), KEY.tenantId));
    db.exec(sql);
    db.close();
  }

  /** What a person sees who gives this command. */
  async run(command: typeof seize, ...args: readonly string[]) {
    let said = "";
    const hear = (text: unknown) => {
      said += String(text);
      return true;
    };
    const out = vi.spyOn(process.stdout, "write").mockImplementation(hear);
    const error = vi.spyOn(console, "error").mockImplementation(hear);
    try {
      const exitCode = await command([...args, "--data", this.path]);
      return { exitCode, said };
    } finally {
      out.mockRestore();
      error.mockRestore();
    }
  }
}

const OF_ACME = ["s1", "--tenant", "acme"] as const;

async function held(holder: Holder) {
  const folder = await DataFolder.make();
  const store = await folder.open();
  const session = newSession("s1", { holder, manifest: manifest({ storeId: "sqlite" }) });
  const commit = commitOf({ events: ["{}", "{}"] });
  const { term } = await value(store.create(KEY, { ...session, commit }));
  return { folder, store, term };
}

const auditOf = async (store: SessionStore) => {
  const query = { journal: "audit", after: 0, limit: 9 } as const;
  const { rows } = await value(store.readJournal(KEY.tenantId, query));
  return rows.map(({ text }) => JSON.parse(text));
};

describe("P5: fermata seize", () => {
  it("frees a session whose server is on no machine that can be asked, and says so", async () => {
    const { folder, store, term } = await held(AWAY);
    const refused = { refusal: { code: "session_locked" } };
    expect(await store.open(KEY, thisHolder("next"), [])).toMatchObject(refused);
    expect(await folder.run(seize, ...OF_ACME)).toEqual({
      exitCode: 0,
      said: "Session s1 is free; it was held by server (process 42 on elsewhere).\n",
    });
    const details = { from: "server (process 42 on elsewhere)" };
    expect(await auditOf(store)).toEqual([
      { v: 1, act: "session_seized", actor: { kind: "operator" }, accepted: true, details },
    ]);
    // Whoever had it has lost it, and whoever comes next gets it.
    const late = await store.commit(KEY, term, commitOf({ afterEventId: 2, events: ["{}"] }));
    expect(late).toMatchObject({ refusal: { code: "writer_lost" } });
    expect(await store.open(KEY, thisHolder("next"), [])).toMatchObject({ ok: true });
  });

  it.each([
    ["on this machine", thisHolder("server")],
    ["on this machine, when it had another name", { ...thisHolder("server"), host: "before" }],
  ])("takes nothing from a server that is at work %s", async (_, holder) => {
    const { folder, store, term } = await held(holder);
    const { exitCode, said } = await folder.run(seize, ...OF_ACME);
    expect(exitCode).toBe(1);
    expect(said).toContain(`open elsewhere: server (process ${process.pid}`);
    const next = commitOf({ afterEventId: 2, events: ["{}"] });
    expect(await store.commit(KEY, term, next)).toMatchObject({ ok: true });
    expect(await auditOf(store)).toEqual([]);
  });

  it("has nothing to do for a session that nobody holds", async () => {
    const { folder, store, term } = await held(AWAY);
    await value(store.close(KEY, term));
    expect(await folder.run(seize, ...OF_ACME)).toEqual({
      exitCode: 0,
      said: "Session s1 is free; nobody holds it.\n",
    });
    expect(await auditOf(store)).toEqual([]);
  });

  it("says what is not there, and makes nothing in its place", async () => {
    const folder = await DataFolder.make();
    expect(await folder.run(seize, ...OF_ACME)).toMatchObject({ exitCode: 1 });
    expect(existsSync(join(folder.path, "sessions"))).toBe(false);
    await folder.open();
    const { exitCode, said } = await folder.run(seize, "s1");
    expect(exitCode).toBe(1);
    expect(said).toMatch(/s1/);
  });

  it.each([[[]], [["s1", "s2"]], [["../s1"]], [["s1", "--tenant", "a/b"]], [["s1", "--force"]]])(
    "refuses the command line %j",
    async (args) => {
      const folder = await DataFolder.make();
      const { exitCode, said } = await folder.run(seize, ...args);
      expect(exitCode).toBe(2);
      expect(said).toContain('see "fermata seize --help"');
    },
  );

  it("explains itself", async () => {
    const folder = await DataFolder.make();
    const { exitCode, said } = await folder.run(seize, "--help");
    expect({ exitCode, first: said.split("\n")[0] }).toEqual({
      exitCode: 0,
      first: "Usage: fermata seize ID [--data DIR] [--tenant NAME]",
    });
  });
});

describe("fermata repair", () => {
  it("cuts a log before what cannot be read, under a new epoch, and says so", async () => {
    const { folder, store, term } = await held(AWAY);
    await value(store.commit(KEY, term, commitOf({ afterEventId: 2, events: ["{}", "{}"] })));
    await value(store.close(KEY, term));
    await value(store.dispose());
    folder.tamper("UPDATE events SET text = replace(text, '{}{}', '[]{}') WHERE first_id = 3");
    const again = await folder.open();
    const range = { after: 0, limit: 9 };
    const corrupt = { refusal: { code: "session_corrupt" } };
    expect(await again.readEvents(KEY, range)).toMatchObject(corrupt);
    expect(await folder.run(repair, ...OF_ACME)).toEqual({
      exitCode: 0,
      said: "The log of s1 ended at event 4; it ends at 2 now.\n",
    });
    const page = await value(again.readEvents(KEY, range));
    expect(page).toMatchObject({ lastEventId: 2, events: [{ id: 1 }, { id: 2 }] });
    expect(page.epoch).not.toBe("e");
    const details = { lastEventId: 2, end: 4 };
    expect(await auditOf(again)).toMatchObject([{ act: "log_cut", details }]);
    expect(await again.readRecord(KEY)).toMatchObject({ value: { holder: null } });
  });

  it("leaves a log alone that can be read to its end, and one that is held", async () => {
    const { folder, store, term } = await held(AWAY);
    expect(await folder.run(repair, ...OF_ACME)).toMatchObject({ exitCode: 1 });
    await value(store.close(KEY, term));
    expect(await folder.run(repair, ...OF_ACME)).toEqual({
      exitCode: 0,
      said: "The log of s1 can be read to its end, 2.\n",
    });
    expect(await value(store.readRecord(KEY))).toMatchObject({ epoch: "e", lastEventId: 2 });
  });
});
