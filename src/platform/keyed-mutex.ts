interface Queue {
  last: Promise<unknown>;
  /** Tasks that run or wait. */
  count: number;
}

/** Runs the tasks of one key one after the other, in the order in which they were given. */
export class KeyedMutex<Key = string> {
  /** A key is here only while it has a task, so idle keys hold no memory. */
  readonly #queues = new Map<Key, Queue>();

  /** How many tasks of this key run or wait. Callers refuse more than their limit by it. */
  countOf(key: Key): number {
    return this.#queues.get(key)?.count ?? 0;
  }

  /** Runs `task` when all earlier tasks of this key have settled; a failed one stops none. */
  async run<Value>(key: Key, task: () => Value | Promise<Value>): Promise<Value> {
    const queue: Queue = this.#queues.get(key) ?? { last: Promise.resolve(), count: 0 };
    this.#queues.set(key, queue);
    const running = queue.last.then(task, task);
    queue.last = running;
    queue.count += 1;
    try {
      return await running;
    } finally {
      queue.count -= 1;
      if (queue.count === 0) this.#queues.delete(key);
    }
  }
}
