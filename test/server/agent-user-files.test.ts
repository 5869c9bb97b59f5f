import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { findAccount, type SystemUser } from "../../src/agent/user/account.ts";
import { UserFiles } from "../../src/agent/user/user-files.ts";
import { asRoot, processesWith, textOf } from "./agent-user.fixture.ts";

/** A group that no other test has, so that its helpers can be told from theirs. */
const GID = 40_000 + (process.pid % 20_000);
const NOBODY = 65_534;

async function account(): Promise<SystemUser> {
  const found = await findAccount(`${NOBODY}:${GID}`, "/");
  if (typeof found === "string") throw new Error(found);
  return found;
}

function workspace(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-helper-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "a.txt"), "A");
  chownSync(folder, NOBODY, GID);
  return folder;
}

/** Those that run; one that has ended and is not reaped yet has no command line. */
const helpers = () => processesWith(`\0${NOBODY}\0${GID}\0`);

describe("P5: the process that uses files as the agents' user", () => {
  asRoot("is one, also when many calls find that it has ended", async () => {
    const files = new UserFiles(await account());
    const file = { workspace: workspace(), path: "a.txt", line: null, limit: null };
    const read = () => files.read(file, async () => {});
    expect(await read()).toMatchObject({ ok: true, value: { content: "A" } });
    const [first = 0, ...others] = helpers();
    expect(others).toEqual([]);
    // No number would be nought, and that is the group of these very tests.
    expect(first).toBeGreaterThan(1);
    process.kill(first, "SIGKILL");
    await expect.poll(() => textOf(`/proc/${first}/cmdline`)).toBe("");
    const answers = await Promise.all(Array.from({ length: 12 }, read));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(helpers()).toHaveLength(1);
    await files.close();
    expect(helpers()).toEqual([]);
    expect(await read()).toMatchObject({ ok: false, refusal: { code: "file_unavailable" } });
    expect(helpers()).toEqual([]);
  });
});
