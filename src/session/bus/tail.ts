import type { Batch } from "./frame.ts";

/** A place in everything that was published: after which event, and after how many bytes. */
export interface Position {
  readonly id: number;
  readonly bytes: number;
}

/** A place in the tail, and what was published there, once something was. */
export interface TailNode {
  readonly at: Position;
  entry: { readonly batch: Batch; readonly next: TailNode } | null;
}

/**
 * What was published lately, as a chain that only leads forward. The bus keeps nothing but its
 * empty end; what lies before it lives exactly as long as some subscriber still stands there. So
 * publishing costs the same for one subscriber as for many, nothing is copied, and a session that
 * everybody has read holds no frames at all.
 */
export class Tail {
  #end: TailNode;

  constructor(publishedThrough: number) {
    this.#end = { at: { id: publishedThrough, bytes: 0 }, entry: null };
  }

  /** Where the next batch will be: a subscriber that stands here has caught up. */
  get end(): TailNode {
    return this.#end;
  }

  push(batch: Batch, lastId: number) {
    const at = { id: lastId, bytes: this.#end.at.bytes + batch.bytes };
    const next: TailNode = { at, entry: null };
    this.#end.entry = { batch, next };
    this.#end = next;
  }

  /** Goes on at another event. Who stands before it gets there only by way of the store. */
  skipTo(id: number) {
    this.#end = { at: { id, bytes: this.#end.at.bytes }, entry: null };
  }
}
