import type { KeyKind, World } from "../world.ts";

/** One row of the matrix. */
export interface Check {
  /** What it is called on the command line, and in the limits of an agent. */
  readonly name: string;
  /** A sentence, with the promise that it proves. */
  readonly title: string;
  /** It needs a world with another key than the good one. */
  readonly key?: KeyKind;
  readonly run: (world: World) => Promise<void>;
}

/** A text that stands nowhere else. */
export function mark(word: string): string {
  counter += 1;
  return `${word}${counter}Z${(counter * 7_919) % 9_973}`;
}

let counter = 0;
