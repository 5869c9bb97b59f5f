import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Every thread and process of a test strips the types of what it loads, by WebAssembly, unless
// the result is cached. That took half of their start; and code of WebAssembly that comes and goes
// with many threads of one process brings V8 down now and then (nodejs/node#64500).
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL("node_modules/.cache/fermata-compile", import.meta.url),
);

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Each test owns its world, so workers can be shared: about six times faster.
    pool: "threads",
    isolate: false,
    // Most of them wait for processes of theirs; by itself vitest takes one on two cores.
    maxWorkers: 2,
    // These end a test that hangs. They prove nothing, so a slow machine must never meet them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 10 } },
  },
});
