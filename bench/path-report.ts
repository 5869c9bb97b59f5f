import type { Profiler } from "node:inspector/promises";

/** What the bench asks the probe in a server. */
export type ProbeQuestion =
  | { readonly act: "begin"; readonly isProfiled: boolean }
  | { readonly act: "end" };

/** What one thread did since the last `begin`. */
export interface ThreadReport {
  readonly thread: string;
  readonly cpuUs: number;
  readonly profile: Profiler.Profile | null;
}

/** CPU time of the least relay since the last question: of all threads, and of the main one. */
export interface RelayReport {
  readonly cpuUs: number;
  readonly mainUs: number;
}

/** What a server did since the last `begin`. */
export interface ProbeReport {
  /** Of all threads, those of Node's own among them. */
  readonly cpuUs: number;
  readonly threads: readonly ThreadReport[];
  /** From the main thread to the store's. */
  readonly messages: number;
  /** How long each call to the store took. */
  readonly answersMs: readonly number[];
  readonly collectionsMs: readonly number[];
}
