/** What the bench asks the probe in a server. */
export type MemoryQuestion =
  | { readonly act: "weigh" }
  /** Writes what is on the heap of the main thread to this file. */
  | { readonly act: "picture"; readonly file: string };

/** What one thread holds after a collection. */
export interface ThreadWeight {
  readonly thread: string;
  readonly heapBytes: number;
}

/** What a server holds after a collection. */
export interface MemoryReport {
  readonly threads: readonly ThreadWeight[];
  /** Outside of all heaps: buffers. */
  readonly externalBytes: number;
  /** Of the process, with what was collected and not given back. */
  readonly residentBytes: number;
}
