import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SessionId } from "../../core/id.ts";
import { bundled } from "../../platform/bundle.fixture.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";
import { deleteUnfinishedForks } from "./fork-draft.ts";

const CHILD = fileURLToPath(await bundled(new URL("fork-child.fixture.ts", import.meta.url)));

/**
 * Opening the source, then the steps of its branch: it is begun, has its past, is finished, given
 * up, and announced. Each is a transaction of its own.
 */
const COMMITS = 6;

const MOMENTS = [
  "sqlite-after-session",
  "sqlite-amid-copy",
  ...["sqlite-before-commit", "sqlite-after-commit"].flatMap((point) =>
    Array.from({ length: COMMITS }, (_, index) => `${point}:${index + 1}`),
  ),
  "its own end",
];

function folderOfTest(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-branch-crash-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What the child told of a branch until it was killed; null is nothing. */
async function branchUntilKilled(
  folder: string,
  sessionId: SessionId,
  failpoint: string,
): Promise<string | null> {
  const env = { ...process.env, FERMATA_FAILPOINT: failpoint };
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [CHILD, folder, sessionId], { env }, (thrown, said, errors) => {
    expect(errors).toBe("");
    expect(thrown?.signal).toBe("SIGKILL");
    resolve(said);
  });
  const said = await promise;
  return said === "" ? null : JSON.parse(said).branch;
}

describe("a server that is killed while it branches a session", () => {
  it.each(MOMENTS)("P1, P5: at %s leaves a whole branch or none", async (moment) => {
    const folder = folderOfTest();
    const stage = await Stage.open({ folder });
    const source = await stage.created();
    for (const word of ["one", "two", "three"]) await source.turn(`say ${word}`);
    await stage.registry.release(source.live);
    await stage.world.agents.shutdown();
    await stage.world.store.dispose();
    const copy = folderOfTest();
    cpSync(folder, copy, { recursive: true });

    const told = await branchUntilKilled(copy, source.sessionId, moment);
    const after = await Stage.open({ folder: copy });
    const { store } = after.world;
    value(await deleteUnfinishedForks(after.world));
    expect(value(await deleteUnfinishedForks(after.world))).toBe(0);
    const { sessions, damaged } = value(await store.list(TENANT, {}, { limit: 9, cursor: null }));
    expect(damaged).toEqual([]);
    const ids = sessions.map(({ sessionId }) => sessionId);
    expect(ids).toContain(source.sessionId);
    if (told !== null) expect(ids).toContain(told);
    expect(told !== null).toBe(moment === "its own end");
    const range = { after: 0, limit: 100 };
    const conversations = ids.map(async (sessionId) =>
      value(await store.readMessages({ tenantId: TENANT, sessionId }, range)),
    );
    for (const { rows } of await Promise.all(conversations)) {
      expect(rows).toHaveLength(6);
      expect(rows.at(-1)?.text).toContain("three");
    }
  });
});
