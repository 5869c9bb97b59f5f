import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore, SlotSet } from "../store.ts";
import { digests, value } from "./expect.ts";
import { cannot, check, forgetful, inSession, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, events, message, slot } from "./sample.ts";
import type { CheckStage } from "./stage.ts";

const KEY = sample.keyOf("s-1");
const TURNS = 6;

/** E, continued. Bytes that are not as they were written. */
export const DAMAGE: readonly StoreCheck[] = [
  check(
    "49, 50, 59: a flipped bit is noticed or has hit nothing, and is left as it is",
    async (stage) => {
      await throughFiles(stage, (intact) =>
        [...spread(intact), ...needles(intact)].map((place) => {
          const damaged = Buffer.from(intact);
          damaged[place] = (damaged[place] ?? 0) ^ 0x10;
          return { how: `bit flipped at ${place}`, damaged };
        }),
      );
    },
    forgetful,
    cannot("root"),
  ),

  check(
    "49, 50: a file that was cut short is noticed, or gives what was there before",
    async (stage) => {
      await throughFiles(stage, (intact) =>
        [0, 0.1, 0.5, 0.9, 0.999]
          .map((share) => Math.floor(intact.length * share))
          .filter((length) => length < intact.length)
          .map((length) => ({ how: `cut at ${length}`, damaged: intact.subarray(0, length) })),
      );
    },
    forgetful,
    cannot("root"),
  ),

  inSession(
    "49: a slot that is damaged is named, and hinders nobody",
    async (writer, store, stage) => {
      const slots = [slot("a", "sound"), slot("torn", "a payload to be found"), slot("z", "")];
      await value(writer.snapshot({ messages: [message("kept")], slots }));
      await value(store.dispose());
      if (!(await flipped(stage.root, "payload to be"))) return;
      const next = await stage.start();
      const sound = digests(slots.filter(({ owner }) => owner !== "torn"));
      const seen = await value(next.readSlots(writer.key));
      assert.deepEqual([digests(seen.slots), seen.damagedSlots], [sound, ["torn"]]);
      const opened = await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual([digests(opened.slots), opened.damagedSlots], [sound, ["torn"]]);
      const again = writer.snapshotOf(1, { slots: [slot("torn", "mended")] });
      await value(next.commit(writer.key, opened.term, sample.commit({ snapshot: again })));
      assert.deepEqual((await value(next.readSlots(writer.key))).damagedSlots, []);
    },
    forgetful,
    cannot("root"),
  ),
];

/** Flips a bit of a text wherever it stands; false if no file has it as it is. */
async function flipped(root: string, needle: string): Promise<boolean> {
  let isFound = false;
  for (const path of await filesUnder(root)) {
    const bytes = await readFile(path);
    for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle)) {
      bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      isFound = true;
    }
    await writeFile(path, bytes);
  }
  return isFound;
}

interface Damage {
  readonly how: string;
  readonly damaged: Uint8Array;
}

/** Tries every damage on every file, one at a time; with the last one mended all is well again. */
async function throughFiles(stage: CheckStage, damages: (intact: Buffer) => readonly Damage[]) {
  const history = await written(stage);
  for (const path of await filesUnder(stage.root)) {
    const intact = await readFile(path);
    for (const damage of damages(intact)) await isNeverWrong(stage, history, path, damage);
    await writeFile(path, intact);
  }
  assert.deepEqual(await view(await stage.start(), "mended"), history.at(-1));
}

/** A tenant with something of everything, and what could be read after each commit. */
async function written(stage: CheckStage): Promise<readonly View[]> {
  const store = await stage.start();
  const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
  const document = { kind: "token", key: "a-document", expectedVersion: 0, value: { of: "acme" } };
  await value(store.writeDocument(ACME, document));
  await value(store.writeBlob(ACME, sample.bytes(BLOB)));
  const history = [await view(store, "new")];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const long = `turn ${turn} `.repeat(200);
    const first = turn * 3 + 1;
    const change = {
      messages: [message(long), message(`answer ${turn}`)],
      slots: [slot("core", `${turn}`.repeat(700)), slot(`slot-of-${turn}`, long, `${turn}.4.2`)],
      turn: sample.turn(first, first + 2),
    };
    const commit = {
      events: events(first, 3),
      journal: [sample.entry(`entry-${turn}`, { sessionId: KEY.sessionId })],
      record: sample.record({ displayName: `named ${turn}` }),
      snapshot: writer.snapshotOf(turn, change),
    };
    await value(writer.commit(commit));
    history.push(await view(store, "whole"));
  }
  await value(store.dispose());
  return history;
}

const BLOB = "a blob that is long enough to be found again";

/**
 * Each answer is typed as damage, or belongs to one state that was once committed. Where
 * the damage was noticed, the file still has it: it may be all that is left to repair.
 */
async function isNeverWrong(
  stage: CheckStage,
  history: readonly View[],
  path: string,
  { how, damaged }: Damage,
) {
  const what = `${path}, ${how}`;
  await writeFile(path, damaged);
  const store = stage.store();
  const started = await store.init(stage.host, stage.samples.valid);
  noticed(started, what);
  const seen = started.ok ? await view(store, what) : {};
  const possible = history.some((state) =>
    Object.entries(seen).every(([part, found]) => isDeepStrictEqual(found, state[part])),
  );
  assert.ok(possible, `${what}: this was never committed: ${wrongPart(seen, history)}`);
  await value(store.dispose());
  const missed = wholeParts(seen).length === wholeParts(history.at(-1) ?? {}).length;
  assert.ok(missed || (await readFile(path)).equals(damaged), `${what}: the file was changed`);
}

function wrongPart(seen: View, history: readonly View[]): string {
  const wrong = Object.entries(seen).filter(
    ([part, found]) => !history.some((state) => isDeepStrictEqual(found, state[part])),
  );
  return JSON.stringify(wrong.length > 0 ? wrong : Object.keys(seen)).slice(0, 500);
}

const NOTICED: ReadonlySet<string> = new Set(["session_corrupt", "store_unavailable"]);

function noticed(result: Result<unknown>, what: string) {
  if (result.ok) return;
  const { code, details } = result.refusal;
  assert.ok(NOTICED.has(code), `${what}: ${code} ${JSON.stringify(details)}`);
}

type View = Readonly<Record<string, unknown>>;

/** What can be read, part by part; where damage is noticed the part is missing. */
async function view(store: SessionStore, what: string): Promise<View> {
  const range = { after: 0, limit: 1_000 };
  const slots = await store.readSlots(KEY);
  const list = await store.list(ACME, {}, { limit: 10, cursor: null });
  const parts: Readonly<Record<string, Result<unknown>>> = {
    record: await store.readRecord(KEY),
    manifest: await store.readManifest(KEY),
    events: await store.readEvents(KEY, range),
    turns: await store.readTurns(KEY, { before: 1_000, limit: 1_000 }),
    messages: await store.readMessages(KEY, range),
    ...partsOf(slots),
    audit: await store.readJournal(ACME, { journal: "audit", ...range }),
    documents: await store.listDocuments(ACME, "token", null),
    blob: await store.readBlob(ACME, BLOB_HASH),
  };
  noticed(list, what);
  const seen: Record<string, unknown> = {};
  for (const [part, result] of Object.entries(parts)) {
    noticed(result, what);
    if (result.ok) seen[part] = result.value;
  }
  return seen;
}

const ONE_SLOT = "the slot of ";

/** A damaged slot takes nothing from the others, so each of those must be right by itself. */
function partsOf(read: Result<SlotSet>): Readonly<Record<string, Result<unknown>>> {
  if (!read.ok) return { slots: read };
  const slots = digests(read.value.slots);
  const each = slots.map((slot) => [`${ONE_SLOT}${slot.owner}`, ok(slot)] as const);
  const isWhole = read.value.damagedSlots.length === 0;
  return { ...Object.fromEntries(each), ...(isWhole && { slots: ok(slots) }) };
}

/** The parts that every state has, besides its slots. */
function wholeParts(view: View): readonly string[] {
  return Object.keys(view).filter((part) => !part.startsWith(ONE_SLOT));
}

/** The SHA-256 of the blob, by `printf '…' | sha256sum`. */
const BLOB_HASH = "6f1c74b1bfdd295ba5089b4c6f8b2f10733a0176bdf0765085433b2cc9c5c6dc";

const SPREAD = 24;
const FINDS_PER_NEEDLE_MAX = 3;

/** Evenly over the file, and off any power of two, so that every structure is hit some time. */
function spread(bytes: Buffer): readonly number[] {
  const step = Math.ceil(bytes.length / SPREAD) | 1;
  const places: number[] = [];
  for (let place = 5; place < bytes.length; place += step) places.push(place);
  return places;
}

/** Texts that are short and easily missed, wherever a store keeps them as they are. */
const NEEDLES: readonly string[] = [
  "slot-of-3",
  "3.4.2",
  '"n":8}',
  "answer 4",
  '[{"folded":[4,6]}]',
  "entry-2",
  '{"act":"entry-2"}',
  "a-document",
  '{"of":"acme"}',
  BLOB,
  "/workspace/.fermata",
  "epoch-1",
  "named 5",
];

function needles(bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (const needle of NEEDLES) {
    let found = bytes.indexOf(needle);
    for (let finds = 0; finds < FINDS_PER_NEEDLE_MAX && found >= 0; finds += 1) {
      places.push(found + Math.floor(needle.length / 2));
      found = bytes.indexOf(needle, found + 1);
    }
  }
  return places;
}

async function filesUnder(root: string): Promise<readonly string[]> {
  const paths = (await readdir(root, { recursive: true })).map((entry) => join(root, entry));
  const files: string[] = [];
  for (const path of paths) if ((await stat(path)).isFile()) files.push(path);
  return files;
}
