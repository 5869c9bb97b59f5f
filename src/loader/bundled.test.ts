import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { BUILT_IN_NAMES } from "../core/slash/commands.ts";
import { withTree } from "./tree.fixture.ts";

const BUNDLED = fileURLToPath(new URL("../../skills", import.meta.url));

/** What agents are known to understand themselves: an alias of ours would stand in front of it. */
const AGENTS_OWN = ["init", "compress", "clear", "review", "plan", "commit", "compact", "memory"];

describe("the skills that come with Fermata", () => {
  it("are all taken, without a word against any of them", () =>
    withTree(async (tree) => {
      const bin = join(tree.root, "bin");
      await chmod(await tree.write(join(bin, "git"), ""), 0o755);
      const snapshot = await tree.skills({
        bundled: BUNDLED,
        reserved: BUILT_IN_NAMES,
        env: { PATH: bin },
      });
      expect(snapshot.diagnostics).toEqual([]);
      const names = snapshot.entries.map((entry) => entry.skill_name);
      expect(names).toEqual(["commit", "explain", "plan", "review", "run"]);
      for (const entry of snapshot.entries) {
        expect(entry.summary).toMatch(/^[A-Z].*\.$/);
        expect(entry.body.length).toBeGreaterThan(100);
        expect(AGENTS_OWN).not.toContain(entry.command);
      }
    }));
});
