import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { SessionKey, SessionStore, StoreCapabilities, StoreContract } from "../store.ts";
import type { CheckStage, Writer } from "./stage.ts";

/** Any test runner that can take a title and a body: vitest's `it`, or `test` of `node:test`. */
export interface Runner {
  test(title: string, body: () => Promise<void>, timeoutMs?: number): void;
  /** Where this is missing, a check that does not apply becomes an empty test that says so. */
  notApplicable?(title: string, reason: string): void;
}

/** What the kit has to know of a store in order to test it. */
export interface StoreHarness {
  /** A store that has not been initialised; making one must touch nothing. */
  store(): SessionStore;
  /** An empty place: a directory, a schema, or what else a configuration can name. */
  makePlace(): Promise<string>;
  /** Removes the place with all that is in it. Every store over it has been disposed of. */
  clearPlace(place: string): Promise<void>;
  samples(place: string): ConfigSamples;
  /** Whether a second instance over one place finds what the first one stored there. */
  readonly persists: boolean;
  /** What can be done to the world behind the store's back; each is optional. */
  readonly world: Partial<World>;
}

export interface ConfigSamples {
  /** Makes this store the active one, over this place. */
  readonly valid: JsonObject;
  /** A configuration that must be refused, and the option at fault. */
  readonly invalid: { readonly config: unknown; readonly path: string };
  /** More configurations that are meant to do harm; the kit has its own too. */
  readonly hostile: readonly unknown[];
  /** Configurations of backends that are not there, or cannot be written. */
  readonly unreachable: readonly JsonObject[];
}

export type Undo = () => Promise<void>;

/** Ways to break a store's world. A store without files has few of them or none. */
export interface World {
  /**
   * The directory that holds all of the place's files. Its parent must hold nothing else, so that
   * the kit can see whether anything was written beside it.
   */
  root(place: string): string;
  /** From now on nothing at the place can be changed. */
  makeReadOnly(place: string): Promise<Undo>;
  /** The place is gone, and comes back with `Undo` as it was. */
  remove(place: string): Promise<Undo>;
  /** From now on the place takes no more bytes. */
  fillUp(place: string): Promise<Undo>;
  /** Replaces the stored manifest, checksums included, as if this had been written. */
  forgeManifest(place: string, key: SessionKey, forge: Forge): Promise<void>;
  /**
   * What a crash in the middle of a write would leave behind, long enough ago that no live process
   * can have written it: the files that the next store must clear away.
   */
  leaveTemporary(place: string): Promise<readonly string[]>;
  /** Cuts the last record short, as a crash in the middle of an append would. */
  tearLastRecord(place: string): Promise<void>;
}

export type Forge = (manifest: JsonObject) => JsonObject;

/** A harness for a store that keeps nothing: no files, and nothing that outlives an instance. */
export function volatileHarness(store: () => SessionStore): StoreHarness {
  return {
    store,
    makePlace: async () => "",
    clearPlace: async () => {},
    samples: () => ({
      valid: { active: true },
      invalid: { config: { active: 1 }, path: "active" },
      hostile: [{ active: { valueOf: () => true } }],
      unreachable: [],
    }),
    persists: false,
    world: {},
  };
}

/**
 * A harness for a store that keeps its files in one directory, its option `path`. More that can be
 * tried with it, such as a forged manifest, is added to its `world`.
 */
export function folderHarness(store: () => SessionStore): StoreHarness {
  const root = (place: string) => join(place, "data");
  return {
    store,
    makePlace: () => mkdtemp(join(tmpdir(), "fermata-kit-")),
    clearPlace: (place) => rm(place, { recursive: true, force: true }),
    samples: (place) => ({
      valid: { active: true, path: root(place) },
      invalid: { config: { active: true, path: 7 }, path: "path" },
      hostile: [{ path: "\u0000" }, { path: "" }],
      unreachable: [{ active: true, path: "/dev/null/fermata" }],
    }),
    persists: true,
    world: {
      root,
      remove: async (place) => {
        await rename(root(place), `${root(place)}.away`);
        return async () => {
          await rm(root(place), { recursive: true, force: true });
          await rename(`${root(place)}.away`, root(place));
        };
      },
    },
  };
}

/** One promise, and how it is tried. */
export interface StoreCheck {
  /** Begins with its number: those of the reference, or a letter and a number for our own. */
  readonly title: string;
  readonly run: (stage: CheckStage) => Promise<void>;
  readonly unless: Unless;
  readonly timeoutMs: number;
}

interface CheckSubject {
  readonly harness: StoreHarness;
  readonly contract: StoreContract;
}

/** Why a check does not apply to this store; null if it does. */
type Unless = (subject: CheckSubject) => string | null;

/** Long enough for a slow disk. Nothing waits for it, except what will never end. */
const CHECK_MS_MAX = 120_000;

export function check(
  title: string,
  run: StoreCheck["run"],
  ...reasons: readonly Unless[]
): StoreCheck {
  const unless: Unless = (subject) =>
    reasons.map((reason) => reason(subject)).find((reason) => reason !== null) ?? null;
  return { title, run, unless, timeoutMs: CHECK_MS_MAX };
}

/** A check over a store that has been started. */
export function inStore(
  title: string,
  run: (store: SessionStore, stage: CheckStage) => Promise<void>,
  ...reasons: readonly Unless[]
): StoreCheck {
  return check(title, async (stage) => run(await stage.start(), stage), ...reasons);
}

/** A check over one new session of a store. */
export function inSession(
  title: string,
  run: (writer: Writer, store: SessionStore, stage: CheckStage) => Promise<void>,
  ...reasons: readonly Unless[]
): StoreCheck {
  const started = async (store: SessionStore, stage: CheckStage) =>
    run(await stage.session(store), store, stage);
  return inStore(title, started, ...reasons);
}

export const forgetful: Unless = ({ harness }) =>
  harness.persists ? null : "nothing outlives an instance of this store";

export function cannot(ability: keyof World): Unless {
  return ({ harness }) =>
    harness.world[ability] === undefined ? `the harness has no ${ability}` : null;
}

/** Only a store of a third party may lack it. */
export const branchless: Unless = ({ harness }) =>
  typeof harness.store().copyPast === "function" ? null : "it has no copyPast: servers do without";

type CapabilityFlag = Exclude<keyof StoreCapabilities, "snapshotBytesLimit">;

export function whenFalse(flag: CapabilityFlag): Unless {
  return ({ contract }) => (contract.capabilities[flag] ? null : `${flag} is false`);
}

export function whenTrue(flag: CapabilityFlag): Unless {
  return ({ contract }) => (contract.capabilities[flag] ? `${flag} is true` : null);
}

export const slotless: Unless = ({ contract }) =>
  contract.stateSlot === null ? "stateSlot is null" : null;

export interface CheckOutcome {
  readonly title: string;
  readonly outcome: "pass" | "fail" | "n/a";
  /** What went wrong, or why it does not apply. */
  readonly detail: string;
}

/** A runner of its own: takes all checks, then runs them one after the other and remembers. */
export class RecordingRunner implements Runner {
  readonly #checks: (() => Promise<CheckOutcome>)[] = [];

  test(title: string, body: () => Promise<void>) {
    this.#checks.push(() =>
      body().then(
        () => ({ title, outcome: "pass", detail: "" }),
        (thrown: unknown) => ({ title, outcome: "fail", detail: String(thrown) }),
      ),
    );
  }

  notApplicable(title: string, detail: string) {
    this.#checks.push(async () => ({ title, outcome: "n/a", detail }));
  }

  async run(): Promise<readonly CheckOutcome[]> {
    const outcomes: CheckOutcome[] = [];
    for (const check of this.#checks) outcomes.push(await check());
    return outcomes;
  }
}

/** The checks that need processes which can be stopped; the crash runner has them. */
export const CRASH_CHECKS: Readonly<Record<number, string>> = {
  42: "stopped at any step of a write, a session is wholly the old or wholly the new one",
  44: "what was acknowledged is there after a hard stop",
  45: "what was not acknowledged is never seen in part",
  48: "the flush happens before the acknowledgement",
  53: "a second writer in another process is refused, and told who the first one is",
  54: "a session whose process died can be opened by another",
  55: "a session whose process lives cannot, however often it is tried",
  88: "killed at random instants, many times over, a session is always one of those it may be",
};
