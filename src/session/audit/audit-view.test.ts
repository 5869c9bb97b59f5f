import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseClientId, parseSessionId, parseTenantId, parseUserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { AUDIT_ROWS_SEARCHED_MAX, PAGE_BYTES_MAX, PAGE_ROWS_MAX } from "../../core/limits.ts";
import { fail, ok } from "../../core/result.ts";
import { pageOf } from "../../store/backend.ts";
import type { JournalQuery, JournalRow } from "../../store/store.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import {
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  auditFile,
  auditPage,
  WHOLE_AUDIT,
} from "./audit-view.ts";

const TENANT = given(parseTenantId("t"));
const SESSION = given(parseSessionId("s"));
const OTHERS = given(parseSessionId("other"));
const OF_SESSION: AuditFilter = { ...WHOLE_AUDIT, sessionId: SESSION };

const ADA = { kind: "client", clientId: "tab-1", userId: "ada" };

function rowOf(seq: number, told: JsonObject = {}, atMs = seq): JournalRow {
  const text = JSON.stringify({ v: 1, act: "a", actor: ADA, accepted: true, ...told });
  return { journal: "audit", key: `${seq}`, sessionId: OTHERS, seq, atMs, text };
}

/** A journal so long, of which the session's entries are at these places. */
function journalOf(length: number, places: readonly number[]): readonly JournalRow[] {
  const own = new Set(places);
  return Array.from({ length }, (_, n) => {
    const row = rowOf(n + 1);
    return own.has(row.seq) ? { ...row, sessionId: SESSION } : row;
  });
}

/** Reads it as stores do, and counts what that costs. */
class Journal {
  rows: readonly JournalRow[];
  reads = 0;
  rowsRead = 0;
  readonly #own: readonly JournalRow[];

  constructor(rows: readonly JournalRow[]) {
    this.rows = rows;
    this.#own = rows.filter((row) => row.sessionId === SESSION);
  }

  readonly readJournal = async (_: unknown, { after, limit, sessionId }: JournalQuery) => {
    this.reads += 1;
    const found =
      sessionId === undefined
        ? this.rows.slice(after, after + PAGE_ROWS_MAX + 1)
        : this.#own.filter(({ seq }) => seq > after);
    const page = pageOf(found, Math.min(limit, PAGE_ROWS_MAX));
    this.rowsRead += page.rows.length;
    return ok(page);
  };
}

/** All pages, one after the other. */
async function allOf(journal: Journal, filter: AuditFilter, limit: number) {
  const read: number[] = [];
  for (let before: number | null = null; ; ) {
    const page: AuditPage = value(await auditPage(journal, TENANT, filter, { before, limit }));
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    read.push(...page.entries.map(({ seq }) => seq));
    if (page.nextBefore === null) return read;
    expect(page.nextBefore).toBeLessThan(before ?? Number.POSITIVE_INFINITY);
    before = page.nextBefore;
  }
}

async function textOf(journal: Journal, filter: AuditFilter, format: AuditFileFormat) {
  const pieces: string[] = [];
  for await (const piece of value(await auditFile(journal, TENANT, filter, format))) {
    pieces.push(piece);
  }
  return pieces.join("");
}

describe("a tenant's audit", () => {
  it("has every entry once, newest first, in pages of any size", async () => {
    const lengths = fc.integer({ min: 0, max: 3_000 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.integer({ min: 1, max: 500 }), async (length, limit) => {
        const journal = new Journal(journalOf(length, []));
        const places = journal.rows.map(({ seq }) => seq);
        expect(await allOf(journal, WHOLE_AUDIT, limit)).toEqual(places.toReversed());
      }),
      { numRuns: 30 },
    );
  });

  it("says that there is no more when there is none, and not one page later", async () => {
    const journal = new Journal(journalOf(6, []));
    const range = { before: null, limit: 6 };
    const page = value(await auditPage(journal, TENANT, WHOLE_AUDIT, range));
    expect([page.entries.length, page.nextBefore]).toEqual([6, null]);
  });

  it("P10: looks at so many rows for one page, and says where to go on", async () => {
    const rows = journalOf(3 * AUDIT_ROWS_SEARCHED_MAX, []);
    const journal = new Journal([rowOf(1, { act: "rare" }), ...rows.slice(1)]);
    const filter = { ...WHOLE_AUDIT, acts: ["rare"] };
    const first = value(await auditPage(journal, TENANT, filter, { before: null, limit: 9 }));
    expect(first.entries).toEqual([]);
    expect(first.nextBefore).toBeGreaterThan(1);
    expect(journal.rowsRead).toBeLessThan(AUDIT_ROWS_SEARCHED_MAX + 2 * PAGE_ROWS_MAX);
    expect(await allOf(journal, filter, 9)).toEqual([1]);
  });

  it("P10: goes on through entries of which a page holds only one", async () => {
    const huge = "x".repeat(PAGE_BYTES_MAX * 0.6);
    const rows = Array.from({ length: 12 }, (_, n) => rowOf(n + 1, n < 6 ? { huge } : {}));
    const places = rows.map(({ seq }) => seq);
    expect(await allOf(new Journal(rows), WHOLE_AUDIT, 5)).toEqual(places.toReversed());
  });

  it("answers why it cannot be read", async () => {
    const broken = { readJournal: async () => fail("store_unavailable", { reason: "away" }) };
    const refused = { ok: false, refusal: { code: "store_unavailable" } };
    const range = { before: 9, limit: 1 };
    expect(await auditPage(broken, TENANT, WHOLE_AUDIT, range)).toMatchObject(refused);
    expect(await auditFile(broken, TENANT, WHOLE_AUDIT, "csv")).toMatchObject(refused);
  });
});

describe("a session's audit", () => {
  it("has every entry once, newest first, however few of the tenant's are its own", async () => {
    const gaps = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_000 })));
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 5 }), async (gaps, limit) => {
        let seq = 0;
        const places = gaps.map((gap) => (seq += gap));
        const journal = new Journal(journalOf(seq + 7, places));
        expect(await allOf(journal, OF_SESSION, limit)).toEqual(places.toReversed());
      }),
      { numRuns: 30 },
    );
  });

  it("P10: is found among many others by a few looks", async () => {
    const last = 300_000;
    const busy = Array.from({ length: 5_000 }, (_, n) => n + 1);
    const journal = new Journal(journalOf(last, [...busy, last]));
    const range = { before: null, limit: 3 };
    const page = value(await auditPage(journal, TENANT, OF_SESSION, range));
    expect(page.entries.map(({ seq }) => seq)).toEqual([last, 5_000, 4_999]);
    expect(journal.reads).toBeLessThan(100);
  });
});

describe("what an audit is asked for", () => {
  const grace = { kind: "client", clientId: "tab-2", userId: "grace" };
  const journal = new Journal([
    rowOf(1, { act: "member_set" }),
    rowOf(2, { act: "token_created", actor: grace }),
    rowOf(3, { act: "command_refused", accepted: false, code: "session_busy" }),
    { ...rowOf(4, { act: "turn_complete", actor: { kind: "agent" } }), sessionId: SESSION },
    { ...rowOf(5, { act: "command_refused", accepted: false, actor: grace }), sessionId: SESSION },
    rowOf(6, { act: "member_set" }, 1),
  ]);

  it.each<[Partial<AuditFilter>, readonly number[]]>([
    [{}, [6, 5, 4, 3, 2, 1]],
    [{ userId: given(parseUserId("grace")) }, [5, 2]],
    [{ userId: given(parseUserId("nobody")) }, []],
    [{ clientId: given(parseClientId("tab-1")) }, [6, 3, 1]],
    [{ acts: ["member_set", "token_created"] }, [6, 2, 1]],
    [{ isAccepted: false }, [5, 3]],
    [{ isAccepted: true, acts: ["command_refused"] }, []],
    [{ sessionId: SESSION }, [5, 4]],
    [{ sessionId: SESSION, userId: given(parseUserId("grace")), isAccepted: false }, [5]],
    // Clocks go back now and then, so times are in no order.
    [{ fromMs: 2, toMs: 5 }, [4, 3, 2]],
    [{ toMs: 2 }, [6, 1]],
  ])("is all that holds of %j", async (wanted, seqs) => {
    const filter = { ...WHOLE_AUDIT, ...wanted };
    expect(await allOf(journal, filter, 2)).toEqual(seqs);
    const lines = (await textOf(journal, filter, "ndjson")).split("\n").slice(0, -1);
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual(seqs.toReversed());
  });
});

describe("an audit as a file", () => {
  it("is the same entries, the oldest first, to the end that there was", async () => {
    const rows = journalOf(2 * PAGE_ROWS_MAX + 5, [7]);
    const journal = new Journal(rows);
    const pieces = value(await auditFile(journal, TENANT, WHOLE_AUDIT, "ndjson"));
    journal.rows = [...rows, rowOf(rows.length + 1)];
    let text = "";
    for await (const piece of pieces) text += piece;
    const lines = text.split("\n").slice(0, -1);
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual(rows.map(({ seq }) => seq));
    expect(JSON.parse(lines[6] ?? "")).toEqual({
      v: 1,
      seq: 7,
      at: "1970-01-01T00:00:00.007Z",
      act: "a",
      actor: ADA,
      accepted: true,
      sessionId: SESSION,
    });
  });

  it("P10: is read a page at a time, as it is taken, and no further than that", async () => {
    const journal = new Journal(journalOf(5 * PAGE_ROWS_MAX, []));
    const nobody = { ...WHOLE_AUDIT, userId: given(parseUserId("nobody")) };
    const pieces = value(await auditFile(journal, TENANT, nobody, "csv"));
    const before = journal.rowsRead;
    let taken = 0;
    for await (const _ of pieces) {
      taken += 1;
      if (taken === 3) break;
    }
    expect(journal.rowsRead).toBe(before + PAGE_ROWS_MAX);
  });

  it("breaks off where it cannot be read any more, and does not look finished", async () => {
    const whole = new Journal(journalOf(2 * PAGE_ROWS_MAX, []));
    const readJournal: Journal["readJournal"] = (tenantId, query) =>
      query.after === PAGE_ROWS_MAX && query.limit === PAGE_ROWS_MAX
        ? Promise.resolve(fail("session_corrupt", { reason: "damaged" }))
        : whole.readJournal(tenantId, query);
    const pieces = value(await auditFile({ readJournal }, TENANT, WHOLE_AUDIT, "ndjson"));
    const all = async () => {
      for await (const _ of pieces);
    };
    await expect(all()).rejects.toThrow("session_corrupt");
  });

  it("as CSV has a line for each, in which no cell is a formula", async () => {
    const actor = { kind: "client", userId: "-ada", clientId: "=1+1" };
    const told = { act: "command_refused", actor, accepted: false, code: "session_busy" };
    const about = { eventId: 7, cause: "prompt", promptId: "p", turnId: "t" };
    const more = { agentStatus: "connected", details: { state: 'a "b", c' } };
    const row = { ...rowOf(1, { ...told, ...about, ...more }), sessionId: SESSION };
    expect((await textOf(new Journal([row]), WHOLE_AUDIT, "csv")).split("\r\n")).toEqual([
      "seq,at,act,accepted,code,actor,userId,clientId,sessionId,eventId,promptId,turnId,cause," +
        "agentStatus,details",
      "1,1970-01-01T00:00:00.001Z,command_refused,false,session_busy,client,'-ada,'=1+1,s,7,p,t," +
        'prompt,connected,"{""state"":""a \\""b\\"", c""}"',
      "",
    ]);
  });

  it("shows what earlier versions wrote like all the rest", async () => {
    const text = '{"act":"fs_write","actor":{"kind":"client","userId":null},"details":{}}';
    const journal = new Journal([{ ...rowOf(1), text }]);
    const [line = ""] = (await textOf(journal, WHOLE_AUDIT, "ndjson")).split("\n");
    expect(JSON.parse(line)).toMatchObject({
      v: 1,
      act: "fs_write",
      actor: { kind: "client" },
      accepted: true,
    });
  });
});
