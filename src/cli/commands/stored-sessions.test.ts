import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { type Holder, thisHolder } from "../../store/holder.ts";
import { value } from "../../store/kit/expect.ts";
import { commitOf, keyOf, manifest, newSession } from "../../store/sample.fixture.ts";
import { databaseFile } from "../../store/sqlite/database.ts";
import type { SessionStore } from "../../store/store.ts";
import { emptyFolder, runIn, servedFolder, serverIn } from "./data-folder.fixture.ts";
import { repair, seize } from "./stored-sessions.ts";

const KEY = keyOf("s1");
const AWAY: Holder = { ...thisHolder("server"), host: "elsewhere", bootId: "another", pid: 42 };

function tamper(folder: string, sql: string) {
  const db = new Database(databaseFile(join(folder, "sessions"), KEY.tenantId));
  db.exec(sql);
  db.close();
}

const OF_ACME = ["s1", "--tenant", "acme"] as const;

async function held(holder: Holder) {
  const { folder, store } = await servedFolder();
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
    expect(await runIn(folder, seize, ...OF_ACME)).toEqual({
      exitCode: 0,
      shown: "Session s1 is free; it was held by server (process 42 on elsewhere).\n",
      stderr: "",
    });
    const details = { from: "server (process 42 on elsewhere)" };
    expect(await auditOf(store)).toEqual([
      { v: 1, act: "session_seized", actor: { kind: "operator" }, accepted: true, details },
    ]);
    // The old holder has lost the session, and the next one gets it.
    const late = await store.commit(KEY, term, commitOf({ afterEventId: 2, events: ["{}"] }));
    expect(late).toMatchObject({ refusal: { code: "writer_lost" } });
    expect(await store.open(KEY, thisHolder("next"), [])).toMatchObject({ ok: true });
  });

  it.each([
    ["on this machine", thisHolder("server")],
    ["on this machine, when it had another name", { ...thisHolder("server"), host: "before" }],
  ])("takes nothing from a server that is at work %s", async (_, holder) => {
    const { folder, store, term } = await held(holder);
    const { exitCode, stderr } = await runIn(folder, seize, ...OF_ACME);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`open elsewhere: server (process ${process.pid}`);
    const next = commitOf({ afterEventId: 2, events: ["{}"] });
    expect(await store.commit(KEY, term, next)).toMatchObject({ ok: true });
    expect(await auditOf(store)).toEqual([]);
  });

  it("has nothing to do for a session that nobody holds", async () => {
    const { folder, store, term } = await held(AWAY);
    await value(store.close(KEY, term));
    expect(await runIn(folder, seize, ...OF_ACME)).toEqual({
      exitCode: 0,
      shown: "Session s1 is free; no server holds it.\n",
      stderr: "",
    });
    expect(await auditOf(store)).toEqual([]);
  });

  it("says what is not there, and makes nothing in its place", async () => {
    const folder = await emptyFolder();
    expect(await runIn(folder, seize, ...OF_ACME)).toMatchObject({ exitCode: 1 });
    expect(existsSync(join(folder, "sessions"))).toBe(false);
    await serverIn(folder);
    const { exitCode, stderr } = await runIn(folder, seize, "s1");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/s1/);
  });

  it.each([[[]], [["s1", "s2"]], [["../s1"]], [["s1", "--tenant", "a/b"]], [["s1", "--force"]]])(
    "refuses the command line %j",
    async (args) => {
      const folder = await emptyFolder();
      const { exitCode, stderr } = await runIn(folder, seize, ...args);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('see "fermata seize --help"');
    },
  );
});

describe("fermata repair", () => {
  it("cuts a log before what cannot be read, under a new epoch, and says so", async () => {
    const { folder, store, term } = await held(AWAY);
    await value(store.commit(KEY, term, commitOf({ afterEventId: 2, events: ["{}", "{}"] })));
    await value(store.close(KEY, term));
    await value(store.dispose());
    tamper(folder, "UPDATE events SET text = replace(text, '{}{}', '[]{}') WHERE first_id = 3");
    const again = await serverIn(folder);
    const range = { after: 0, limit: 9 };
    const corrupt = { refusal: { code: "session_corrupt" } };
    expect(await again.readEvents(KEY, range)).toMatchObject(corrupt);
    expect(await runIn(folder, repair, ...OF_ACME)).toEqual({
      exitCode: 0,
      shown: "The log of s1 ended at event 4; now it ends at 2.\n",
      stderr: "",
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
    expect(await runIn(folder, repair, ...OF_ACME)).toMatchObject({ exitCode: 1 });
    await value(store.close(KEY, term));
    expect(await runIn(folder, repair, ...OF_ACME)).toEqual({
      exitCode: 0,
      shown: "The log of s1 can be read to its end, 2.\n",
      stderr: "",
    });
    expect(await value(store.readRecord(KEY))).toMatchObject({ epoch: "e", lastEventId: 2 });
  });
});
