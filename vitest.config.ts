import { defineConfig } from "vitest/config";
import { prepareTestEnvironment, programsOfBuild } from "./scripts/test-environment.ts";
import { SlowestFirst } from "./scripts/test-order.ts";

prepareTestEnvironment();

/**
 * Node's baseline compiler now and then takes a process with many threads down with it
 * (nodejs/node#62393), and tests have many; without it nothing else changes. Young objects get more
 * memory: by itself V8 begins with so little that tests spend a seventh of their time collecting.
 */
const WORKER_FLAGS = ["--no-sparkplug", "--min-semi-space-size=16"];

export default defineConfig({
  plugins: [programsOfBuild()],
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    sequence: { sequencer: SlowestFirst },
    // Each test owns its world, so workers can be shared: about six times faster. Tests start
    // thousands of processes, which costs as much as the worker is large: threads share one.
    pool: "forks",
    isolate: false,
    execArgv: WORKER_FLAGS,
    // Many of them wait for processes of theirs: two workers kept two cores busy for 74 % of the
    // time. By itself vitest takes one.
    maxWorkers: 3,
    // These end a test that hangs. They prove nothing, so a slow machine must never meet them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 10 } },
  },
});
