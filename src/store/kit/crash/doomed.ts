import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type * as S from "../../store.ts";
import { allDocuments, allEntries, allEvents, allListed, value } from "../expect.ts";
import { DOOMED } from "./doomed-lane.ts";
import type { Called, History } from "./history.ts";
import type { Step } from "./step.ts";

/** What there is of the tenant, in a form that can be compared. */
interface Remains {
  readonly sessions: readonly string[];
  readonly entries: readonly string[];
  readonly documents: readonly string[];
  readonly blobs: readonly string[];
}

/**
 * Looks at the tenant that is removed again and again. It must have all that was written since
 * its last removal and nothing from before, with or without the one call that had no answer.
 */
export async function verifyDoomed(store: S.SessionStore, history: History): Promise<void> {
  const called = history.doomed;
  const answered = called.filter(({ answer }) => answer !== null);
  const actual = await remains(store, called);
  const fitting = [answered, called].find((some) => isDeepStrictEqual(remainsOf(some), actual));
  if (fitting === undefined) assert.deepEqual(actual, remainsOf(answered), NEITHER);
  const isNamed = (await value(store.tenants())).includes(DOOMED);
  // A crash may leave one that has been begun; but none comes of a removal that was answered.
  const isRemoved = called.at(-1)?.step.op === "removeTenant" && answered.length === called.length;
  assert.ok(!(isNamed && isRemoved), "a removed tenant is named");
  assert.ok(isNamed || sizeOf(actual) === 0, "a tenant that has something is not named");
  history.doomed = sinceRemoval(fitting ?? answered).map((one) => ({ ...one, answer: ANSWERED }));
}

const NEITHER = "the doomed tenant is in none of the 2 states it may be in";

const ANSWERED = { ok: true, value: null } as const;

function sinceRemoval(called: readonly Called[]): readonly Called[] {
  return called.slice(called.findLastIndex(({ step }) => step.op === "removeTenant") + 1);
}

function remainsOf(called: readonly Called[]): Remains {
  const steps = sinceRemoval(called).map(({ step }) => step);
  return {
    sessions: steps
      .flatMap((step) =>
        step.op === "create" ? [sessionText(step.key.sessionId, step.session.commit.events)] : [],
      )
      .sort(),
    entries: steps.flatMap(entriesOf).map(keyOf),
    documents: steps.flatMap((step) => (step.op === "document" ? [step.write.key] : [])).sort(),
    blobs: steps.flatMap((step) => (step.op === "blob" ? [hashOf(step.bytes)] : [])),
  };
}

function entriesOf(step: Step): readonly S.JournalEntry[] {
  if (step.op === "document") return step.write.entries ?? [];
  return step.op === "append" ? step.entries : [];
}

async function remains(store: S.SessionStore, called: readonly Called[]): Promise<Remains> {
  const sessions: string[] = [];
  for (const { sessionId } of await allListed(store, DOOMED)) {
    const log = await allEvents(store, { tenantId: DOOMED, sessionId });
    sessions.push(
      sessionText(
        sessionId,
        log.map(({ text }) => text),
      ),
    );
  }
  const blobs: string[] = [];
  for (const { step } of called) {
    if (step.op !== "blob") continue;
    const hash = hashOf(step.bytes);
    if ((await store.readBlob(DOOMED, hash)).ok) blobs.push(hash);
  }
  return {
    sessions: sessions.sort(),
    entries: (await allEntries(store, DOOMED, "audit")).map(keyOf),
    documents: (await allDocuments(store, DOOMED, "token")).map(keyOf).sort(),
    blobs,
  };
}

const keyOf = ({ key }: { readonly key: string }) => key;

const sessionText = (id: string, events: readonly string[]) => `${id}: ${events.join(" ")}`;

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

function sizeOf({ sessions, entries, documents, blobs }: Remains): number {
  return sessions.length + entries.length + documents.length + blobs.length;
}
