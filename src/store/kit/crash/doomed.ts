import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type * as S from "../../store.ts";
import { allDocuments, allEntries, allEvents, allListed, value } from "../expect.ts";
import * as sample from "../sample.ts";
import type { Hand } from "./lane.ts";
import type { Called, History } from "./model.ts";
import type { StoreStep } from "./workload.ts";

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

function entriesOf(step: StoreStep): readonly S.JournalEntry[] {
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

/** The tenant that is removed again and again. */
export const DOOMED = sample.tenantId("doomed");

const REMOVAL_PERCENT = 20;

/** Furnishes one tenant and removes it, one call after the other: at most one is on its way. */
export class DoomedLane {
  readonly #hand: Hand;

  constructor(hand: Hand) {
    this.#hand = hand;
  }

  async run(count: number): Promise<void> {
    for (let step = 0; step < count; step += 1) await this.#hand.submit(this.#step());
  }

  #step(): StoreStep {
    const { chance, fresh, life, holder } = this.#hand;
    if (chance.happens(REMOVAL_PERCENT)) return { op: "removeTenant", tenantId: DOOMED, holder };
    const name = `${life}-doomed-${fresh()}`;
    const roll = chance.below(4);
    if (roll === 0) return { op: "append", tenantId: DOOMED, entries: [sample.entry(name)] };
    if (roll === 1) return { op: "blob", tenantId: DOOMED, bytes: sample.bytes(name) };
    if (roll === 2) {
      const entries = [sample.entry(name)];
      const write = { kind: "token", key: name, expectedVersion: 0, value: { name }, entries };
      return { op: "document", tenantId: DOOMED, write };
    }
    const key = sample.keyOf(name, DOOMED);
    const manifest = sample.manifest(key, this.#hand.storeId);
    const commit = sample.commit({ events: sample.events(1, chance.between(1, 3)) });
    return { op: "create", key, session: sample.newSession(manifest, { holder, commit }) };
  }
}
