import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/files.ts";

/** What a page has to load for the client, with its one dependency, compressed. */
const BYTES_MAX = 12_000;

async function bundled() {
  const input = join(ROOT, "src/client/index.ts");
  const bundle = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  return output;
}

describe("the client, as a page loads it", () => {
  it(`is one file of at most ${BYTES_MAX} bytes, with one dependency`, async () => {
    const [file, ...others] = await bundled();
    expect(others).toEqual([]);
    expect(file.imports).toEqual([]);
    const packages = file.moduleIds.flatMap((id) => /node_modules\/([^/]+)/.exec(id)?.[1] ?? []);
    expect([...new Set(packages)]).toEqual(["eventsource-parser"]);
    expect(gzipSync(file.code).length).toBeLessThanOrEqual(BYTES_MAX);
  });
});
