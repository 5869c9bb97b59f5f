import type { JsonObject } from "../../../core/json.ts";
import type { SessionStore } from "../../store.ts";

/** A store, and how to have it in a process of its own. */
export interface CrashSubject {
  /** A script that imports the store and hands it to `playChild`. */
  readonly script: URL;
  /** Under which name it does so. */
  readonly factory: string;
  /** The same store, in this process: what the other one has left is looked at with it. */
  store(): SessionStore;
  /** An empty place, and the end of it. */
  makePlace(): Promise<string>;
  clearPlace(place: string): Promise<void>;
  /** A configuration that makes the store the active one over this place. */
  config(place: string): JsonObject;
  /** Every step of a write at which the store's code calls `failpoint`. */
  readonly failpoints: readonly string[];
}
