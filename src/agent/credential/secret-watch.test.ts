import { rmSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SECRET_FILES_MAX, SECRET_SCAN_MS, SECRETS_REPLACED_MAX } from "../../core/limits.ts";
import { DONE, fail } from "../../core/result.ts";
import { SecretFolder } from "./credential.fixture.ts";
import { RetiredSecrets, SecretWatch } from "./secret-watch.ts";

/** A watch over a folder, and what it has told. */
function watched(folder: SecretFolder, refused: readonly string[] = []) {
  const known = new Set<string>();
  const warnings: string[] = [];
  const retired = new RetiredSecrets((value) => known.delete(value));
  const watch = new SecretWatch({
    files: folder.files,
    know: (value) => {
      if (refused.includes(value)) return fail("invalid_store_input", { reason: "no more" });
      known.add(value);
      return DONE;
    },
    retire: (value) => retired.add(value),
    warn: (path, reason) => warnings.push(`${path}: ${reason}`),
  });
  onTestFinished(() => watch.end());
  return { watch, known, warnings };
}

describe("P11: the watch over the folder of secrets", () => {
  it("knows all secrets of the folder before it says that it has started", async () => {
    const folder = new SecretFolder({
      "acme/ada/KEY": "of-ada",
      "acme/KEY": "of-acme",
      KEY: "all",
    });
    const { watch, known } = watched(folder);
    expect(await watch.start()).toBe(true);
    expect([...known].toSorted()).toEqual(["all", "of-acme", "of-ada"]);
  });

  it("knows a replaced secret and the one before it, and one that has vanished", async () => {
    const folder = new SecretFolder({ "acme/KEY": "first", "acme/OTHER": "other" });
    const { watch, known } = watched(folder);
    await watch.start();
    folder.put("acme/KEY", "second");
    rmSync(folder.at("acme/OTHER"));
    await watch.look();
    expect([...known].toSorted()).toEqual(["first", "other", "second"]);
  });

  it("looks again at intervals, until it is ended", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const folder = new SecretFolder({ "acme/KEY": "first" });
    const { watch, known } = watched(folder);
    await watch.start();
    folder.put("acme/KEY", "second");
    vi.advanceTimersByTime(SECRET_SCAN_MS);
    await expect.poll(() => known.has("second")).toBe(true);
    await watch.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("P10: forgets the oldest of many that were replaced", async () => {
    const folder = new SecretFolder({ "acme/KEY": "value-0" });
    const { watch, known } = watched(folder);
    await watch.start();
    for (let n = 1; n <= SECRETS_REPLACED_MAX + 1; n += 1) {
      folder.put("acme/KEY", `value-${n}`);
      await watch.look();
    }
    expect(known.size).toBe(SECRETS_REPLACED_MAX + 1);
    expect(known.has("value-0")).toBe(false);
    expect(known.has("value-1")).toBe(true);
  });

  it("warns once of a file that is unusable, refused, or open to all users", async () => {
    const folder = new SecretFolder({ "acme/EMPTY": "", "acme/FULL": "refused" });
    folder.put("acme/OPEN", "open-to-all", 0o644);
    const { watch, warnings } = watched(folder, ["refused"]);
    await watch.start();
    await watch.look();
    expect(warnings).toEqual([
      "acme/EMPTY: it is empty",
      "acme/FULL: no more",
      "acme/OPEN: every user of this machine may read it",
    ]);
    folder.put("acme/EMPTY", "full-now");
    await watch.look();
    folder.put("acme/EMPTY", "");
    await watch.look();
    expect(warnings.slice(3)).toEqual(["acme/EMPTY: it is empty"]);
  });

  it("P10: does not start over more files than it can know", async () => {
    const folder = new SecretFolder();
    for (let n = 0; n <= SECRET_FILES_MAX; n += 1) folder.put(`acme/K${n}`, `value-${n}`);
    const { watch, warnings } = watched(folder);
    expect(await watch.start()).toBe(false);
    expect(warnings).toEqual([`.: it has more than ${SECRET_FILES_MAX} files`]);
  });
});
