import { parentPort, workerData } from "node:worker_threads";

// Threads of exports as hostile texts could make them: one never comes to its first piece, the
// other takes all the memory there is. Which it is, is chosen by the name of the session.

parentPort?.once("message", () => {
  const isHungry = workerData.record.displayName === "hungry";
  const taken: number[][] = [];
  for (let n = 0; ; n += 1) if (isHungry) taken.push(new Array(100_000).fill(n));
});
