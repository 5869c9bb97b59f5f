import { parentPort, workerData } from "node:worker_threads";
import type { ThreadAnswer, ThreadCall } from "./calls.ts";
import { serve } from "./thread.ts";

/** What all threads of a test share: how many of them have been started. */
export interface FrailData {
  readonly starts: Int32Array;
}

/** What the thread can be asked. */
export type FrailOps = {
  /** How many calls it was given together. */
  readonly together: () => number;
  /** The same, and its answer counts as heavy. */
  readonly heavyTogether: () => number;
  /** How many calls it has answered before this one. */
  readonly place: () => number;
  /** Ends the thread unless it is the one of this number or a later one. */
  readonly surviveFrom: (start: number) => number;
};

/** A thread that ends when it is told to, without an answer. */
if (parentPort) {
  const { starts }: FrailData = workerData;
  const start = Atomics.add(starts, 0, 1) + 1;
  let answers = 0;
  const answered = (
    { n, op, args: [from] }: ThreadCall,
    count: number,
  ): readonly ThreadAnswer[] => {
    if (op === "surviveFrom" && start < Number(from)) process.exit(1);
    const values: Readonly<Record<string, number>> = { surviveFrom: start, place: answers };
    answers += 1;
    return [{ n, value: values[op] ?? count }];
  };
  const work = (calls: readonly ThreadCall[]) => calls.map((call) => answered(call, calls.length));
  serve(parentPort, work, () => {});
}
