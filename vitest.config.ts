import { defineConfig } from "vitest/config";
import { prepareTestEnvironment, programsOfBuild } from "./scripts/test-environment.ts";
import { SlowestFirst } from "./scripts/test-order.ts";

prepareTestEnvironment();

export default defineConfig({
  plugins: [programsOfBuild()],
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Each test owns its world, so workers can be shared: about six times faster.
    sequence: { sequencer: SlowestFirst },
    pool: "threads",
    isolate: false,
    // Many of them wait for processes of theirs: two workers kept two cores busy for 74 % of the
    // time. By itself vitest takes one.
    maxWorkers: 3,
    // These end a test that hangs. They prove nothing, so a slow machine must never meet them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 10 } },
  },
});
