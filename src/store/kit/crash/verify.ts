import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TenantId } from "../../../core/id.ts";
import { isObject } from "../../../core/json.ts";
import type * as S from "../../store.ts";
import { allEntries, allListed, sessionState, value } from "../expect.ts";
import { verifyDoomed } from "./doomed.ts";
import {
  type Called,
  type Expected,
  type History,
  type Played,
  type SessionHistory,
  SessionModel,
} from "./model.ts";
import { type SessionStep, TENANTS } from "./workload.ts";

/**
 * Looks at a store from outside, after a process that wrote to it was killed. Each session must be
 * as it was after some of its calls, in their order, among them all that were answered; and then
 * it is known which. Nothing else may be there.
 */
export async function verify(store: S.SessionStore, history: History): Promise<void> {
  for (const tenantId of TENANTS) {
    const journal = await wholeJournal(store, tenantId);
    const ofTenant = history.sessions.filter(({ key }) => key.tenantId === tenantId);
    for (const session of ofTenant) await verifySession(store, session, journal);
    await verifyList(store, tenantId, ofTenant);
    const known = new Set<string | null>(ofTenant.map(({ key }) => key.sessionId));
    const stray = journal.filter(({ sessionId }) => sessionId !== null && !known.has(sessionId));
    assert.deepEqual(stray, [], "the journal has entries that nobody wrote");
  }
  await verifyTenants(store, history);
  await verifyDoomed(store, history);
}

/** One journal after the other, each in the order of its numbers, without a gap from 1 on. */
async function wholeJournal(store: S.SessionStore, tenantId: TenantId) {
  const entries: S.JournalEntry[] = [];
  for (const journal of ["audit", "ledger"] as const) {
    const rows = await allEntries(store, tenantId, journal);
    for (const [index, { seq, ...entry }] of rows.entries()) {
      assert.equal(seq, index + 1, `the entry ${entry.key} of the ${journal} of ${tenantId}`);
      entries.push(entry);
    }
  }
  return entries;
}

export async function verifySession(
  store: S.SessionStore,
  history: SessionHistory,
  journal: readonly S.JournalEntry[],
): Promise<void> {
  const { key, settled, called } = history;
  const entries = journal.filter(({ sessionId }) => sessionId === key.sessionId);
  const taken = takenCalls(history, { session: await viewOrNull(store, key), entries });
  settled.push(...taken);
  called.length = 0;
}

async function viewOrNull(store: S.SessionStore, key: S.SessionKey) {
  const record = await store.readRecord(key);
  if (!record.ok && record.refusal.code === "session_not_found") return null;
  return sessionState(store, key);
}

/** The calls that the session's present state shows, if there is a state that it may be in. */
function takenCalls(history: SessionHistory, actual: Expected): readonly Played[] {
  const { key, settled, called } = history;
  const answered = called.findLastIndex(({ answer }) => answer !== null) + 1;
  const model = new SessionModel(key.sessionId, settled);
  const taken: Played[] = [];
  let least: Expected | null = null;
  for (let count = 0; count <= called.length; count += 1) {
    if (count >= answered) {
      const { expected } = model;
      if (isDeepStrictEqual(actual, expected)) return taken;
      least ??= expected;
    }
    const next = called[count];
    if (next !== undefined && next.refused === null) taken.push(play(model, next, actual));
  }
  const states = called.length - answered + 1;
  const what = `session ${key.sessionId} is in none of the ${states} states it may be in`;
  return assert.fail(`${what}; beside the acknowledged one: ${difference(actual, least)}`);
}

/** Takes a call into the model, and compares what the store answered to it. */
function play(model: SessionModel, call: Called<SessionStep>, actual: Expected): Played {
  const { step, answer } = call;
  const { holder, term: before } = model;
  const said = answer?.ok && isObject(answer.value) ? answer.value : null;
  if (step.op !== "create" && step.op !== "open" && step.op !== "seize") {
    model.apply(step, before);
    const { revision, lastEventId } = model.expected.session?.record ?? {};
    if (step.op === "commit" && said) assert.deepEqual(said, { revision, lastEventId });
    return { step, term: before };
  }
  // Which term was given without an answer can only be seen. In any case it is a higher one.
  const term = Number(said?.term ?? actual.session?.record.term ?? before + 1);
  if (said) assert.ok(term > before, `${step.op} gave the term ${term} after ${before}`);
  if (said && step.op !== "create") assert.deepEqual(said.replaced, holder);
  model.apply(step, Math.max(term, before + 1));
  return { step, term: Math.max(term, before + 1) };
}

function difference(actual: unknown, expected: unknown): string {
  try {
    assert.deepEqual(actual, expected);
    return "none";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.slice(0, 4_000) : "";
  }
}

async function verifyList(
  store: S.SessionStore,
  tenantId: TenantId,
  histories: readonly SessionHistory[],
) {
  const expected = histories
    .map(({ key, settled }) => new SessionModel(key.sessionId, settled).expected.session?.record)
    .filter((record) => record !== undefined);
  const byId = (a: S.StoredRecord, b: S.StoredRecord) => (a.sessionId < b.sessionId ? -1 : 1);
  const listed = [...(await allListed(store, tenantId))].sort(byId);
  assert.deepEqual(listed, expected.sort(byId), "the list is not that of the sessions");
}

async function verifyTenants(store: S.SessionStore, history: History) {
  const called = history.takeCalls();
  for (const tenantId of TENANTS) {
    const ofTenant = called.filter(({ step }) => step.tenantId === tenantId);
    await verifyDocuments(store, tenantId, history, ofTenant);
    await verifyEntries(store, tenantId, history, ofTenant);
    await verifyBlobs(store, tenantId, history, ofTenant);
  }
}

type TenantCall = ReturnType<History["takeCalls"]>[number];

/** Of one call all entries are there or none, and those that were acknowledged are. */
async function verifyEntries(
  store: S.SessionStore,
  tenantId: TenantId,
  { entries }: History,
  called: readonly TenantCall[],
) {
  const journal = await wholeJournal(store, tenantId);
  const found = journal.filter(({ sessionId }) => sessionId === null);
  const there = new Set(found.map(({ key }) => key));
  for (const { step, answer } of called) {
    if (step.op !== "append") continue;
    const count = step.entries.filter(({ key }) => there.has(key)).length;
    const may = answer === null ? [0, step.entries.length] : [step.entries.length];
    assert.ok(may.includes(count), `of ${step.entries.length} entries ${count} are there`);
    if (count > 0) for (const entry of step.entries) entries.set(`${tenantId} ${entry.key}`, entry);
  }
  const known = [...entries].filter(([name]) => name.startsWith(`${tenantId} `));
  const byKey = (a: S.JournalEntry, b: S.JournalEntry) => (a.key < b.key ? -1 : 1);
  assert.deepEqual(found.sort(byKey), known.map(([, entry]) => entry).sort(byKey));
}

async function verifyBlobs(
  store: S.SessionStore,
  tenantId: TenantId,
  { blobs }: History,
  called: readonly TenantCall[],
) {
  for (const { step, answer } of called) {
    if (step.op !== "blob") continue;
    const hash = createHash("sha256").update(step.bytes).digest("hex");
    const read = await store.readBlob(tenantId, hash);
    if (read.ok || answer !== null) blobs.set(`${tenantId} ${hash}`, step.bytes);
  }
  for (const [name, bytes] of blobs) {
    const [tenant, hash = ""] = name.split(" ");
    if (tenant !== tenantId) continue;
    assert.ok(isDeepStrictEqual(await value(store.readBlob(tenantId, hash)), bytes), name);
  }
}

/**
 * Each document is as after some of its writes, among them all that were acknowledged; and the
 * entries that came with those are there, and none that came with the others.
 */
async function verifyDocuments(
  store: S.SessionStore,
  tenantId: TenantId,
  { documents, entries }: History,
  called: readonly TenantCall[],
) {
  const writes = called.flatMap(({ step, answer }) =>
    step.op === "document" ? [{ ...step.write, answered: answer !== null }] : [],
  );
  const journal = new Set((await wholeJournal(store, tenantId)).map(({ key }) => key));
  const names = new Map(writes.map(({ kind, key }) => [`${tenantId} ${kind} ${key}`, [kind, key]]));
  for (const [name, [kind = "", key = ""]] of names) {
    const own = writes.filter((write) => write.kind === kind && write.key === key);
    const before = documents.get(name) ?? null;
    const answered = own.findLastIndex((write) => write.answered) + 1;
    const found = await value(store.readDocument(tenantId, kind, key));
    const states = [before, ...own.map((write) => documentAfter(write, found))];
    const may = states.slice(answered);
    const told = own.flatMap((write) => write.entries ?? []);
    const there = told.filter(({ key: entry }) => journal.has(entry));
    const isAfter = (count: number) => {
      const expected = own.slice(0, count).flatMap((write) => write.entries ?? []);
      return isDeepStrictEqual(states[count], found) && isDeepStrictEqual(expected, there);
    };
    assert.ok(
      may.some((_, later) => isAfter(answered + later)),
      `document ${name} is ${JSON.stringify(found)}, with ${there.length} entries told of it: ` +
        `it is in none of the ${may.length} states it may be in: ${JSON.stringify(may)}`,
    );
    for (const entry of there) entries.set(`${tenantId} ${entry.key}`, entry);
    if (found === null) documents.delete(name);
    else documents.set(name, found);
  }
  for (const [name, document] of documents) {
    const [tenant, kind = "", key = ""] = name.split(" ");
    if (tenant !== tenantId) continue;
    assert.deepEqual(await value(store.readDocument(tenantId, kind, key)), document);
  }
}

/** A new document begins with a version that only the store knows: it may have been there once. */
function documentAfter(write: S.DocumentWrite, found: S.Document | null): S.Document | null {
  const { kind, key, expectedVersion, value: written } = write;
  if (written === null) return null;
  const version = expectedVersion === 0 ? (found?.version ?? 1) : expectedVersion + 1;
  return { kind, key, version, value: written };
}
