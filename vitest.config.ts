import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Each test owns its world, so workers can be shared: about six times faster.
    pool: "threads",
    isolate: false,
    // Most of them wait for processes of theirs; by itself vitest takes one on two cores.
    maxWorkers: 2,
    testTimeout: 10_000,
    hookTimeout: 60_000,
  },
});
