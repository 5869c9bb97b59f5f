import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { itWhere, TRACER, whyNoTrace } from "../src/platform/machine.fixture.ts";
import { ENTRY } from "./server/program.fixture.ts";

const TEST_MS_MAX = 60_000;

/** What the system was asked to write, flush and rename while a backup was made, in order. */
function traced(folder: string): readonly string[] {
  const data = join(folder, "data");
  const env = { ...process.env, NODE_OPTIONS: "", FERMATA_HOME: join(folder, "home") };
  const user = ["--user", "ada", "--role", "owner"];
  const made = spawnSync(process.execPath, [ENTRY, "tokens", "create", ...user, "--data", data], {
    env,
  });
  expect(made.status).toBe(0);
  const log = join(folder, "trace");
  const calls = "trace=write,pwrite64,fsync,fdatasync,rename,renameat,renameat2";
  const watch = ["-f", "-qq", "-y", "-s", "300", "-e", calls, "-o", log];
  const backup = [process.execPath, ENTRY, "backup", join(folder, "backup"), "--data", data];
  const done = spawnSync(TRACER, [...watch, ...backup], { env, encoding: "utf8" });
  expect({ status: done.status, stderr: done.stderr }).toEqual({ status: 0, stderr: "" });
  return readFileSync(log, "utf8").split("\n");
}

describe("the contents file of a backup", () => {
  itWhere(
    whyNoTrace(),
    "P1: is on the disk before the backup gets its name and is reported",
    () => {
      const folder = mkdtempSync(join(tmpdir(), "fermata-backup-flush-"));
      try {
        const lines = traced(folder);
        const at = (wanted: RegExp) => lines.findLastIndex((line) => wanted.test(line));
        const written = at(/write(?:64)?\(\d+<[^>]*\/backup\.json>/);
        const flushed = at(/f(?:data)?sync\(\d+<[^>]*\/backup\.json>/);
        const named = at(/rename(?:at2?)?\(.*\/backup"/);
        const reported = at(/write\(1<.*Backed up/);
        expect([written, flushed, named, reported]).toEqual(
          [written, flushed, named, reported].toSorted((a, b) => a - b),
        );
        expect(written).toBeGreaterThan(-1);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    TEST_MS_MAX,
  );
});
