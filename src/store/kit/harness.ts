import type { JsonObject } from "../../core/json.ts";
import type { SessionKey, SessionStore } from "../store.ts";

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
  /** An empty place: a directory, a schema, whatever a configuration can name. */
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
   * What a crash in the middle of a write would leave lying about, long enough ago that it can be
   * nobody's at work: the files that the next store must clear away.
   */
  leaveTemporary(place: string): Promise<readonly string[]>;
  /** Cuts the last record short, as a crash in the middle of an append would. */
  tearLastRecord(place: string): Promise<void>;
}

export type Forge = (manifest: JsonObject) => JsonObject;
