import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Answer, Call } from "./thread.ts";

/**
 * The thread's side of its port. Whatever has arrived while the last batch was at work is taken
 * together, so the busier the store, the larger its batches. Which answers travel together is for
 * the work to say. An empty message means: the end.
 */
export function serve(
  port: MessagePort,
  work: (calls: readonly Call[]) => Iterable<readonly Answer[]>,
  end: () => void,
) {
  port.on("message", (first: readonly Call[]) => {
    const calls = [...first];
    let ending = first.length === 0;
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      const more: readonly Call[] = next.message;
      calls.push(...more);
      ending ||= more.length === 0;
    }
    if (calls.length > 0) for (const answers of work(calls)) port.postMessage(answers);
    if (!ending) return;
    end();
    port.close();
  });
}
