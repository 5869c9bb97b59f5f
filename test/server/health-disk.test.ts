// What a real server says of itself when its disk is full, or when bytes of its log have changed.

import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { itWhere } from "../../src/platform/machine.fixture.ts";
import { clearDisk, fillDisk, makeDisk, whyNoDisks } from "../../src/store/sqlite/disk.fixture.ts";
import { served } from "./health.fixture.ts";

const noDisks = await whyNoDisks();

describe("the health of a server", { timeout: 120_000 }, () => {
  itWhere(noDisks, "is degraded while its disk is full, and ok when it is not", async () => {
    const disk = await makeDisk(48);
    onTestFinished(() => clearDisk(disk));
    const { server, ask, create, health } = await served({
      flags: ["--disk-reserve-mb", "1"],
      prepare: ({ data }) => symlinkSync(disk, data),
    });
    const made = await create();
    await health("ok");
    const empty = await fillDisk(disk);
    const { status, body } = await health("degraded");
    expect([status, body.reason]).toEqual([503, "store_unwritable"]);
    expect(body.reasons[0].message).toMatch(/ENOSPC|no space|full/i);
    // What was free a moment ago is still believed; then the store itself refuses, with a 503.
    await expect.poll(async () => (await create()).body.code).toBe("disk_full");
    // It still answers for load balancers, and can still be read.
    expect((await ask("/health")).status).toBe(200);
    expect((await ask(`/session/${made.body.sessionId}/status`)).status).toBe(200);
    await empty();
    expect((await health("ok")).status).toBe(200);
    await expect.poll(async () => (await create()).status).toBe(200);
    expect(server.said).toMatch(/"reason":"store_unwritable".*"msg":"degraded"/);
    expect(server.said).toContain("no longer degraded");
  });

  it("names the sessions that changed bytes of its log took away, and only those", async () => {
    const { server, ask, create, health, database, command } = await served();
    const made: string[] = [];
    for (let n = 0; n < 8; n += 1) made.push((await create()).body.sessionId);
    await server.kill("SIGKILL");
    const log = `${database}-wal`;
    const bytes = readFileSync(log);
    for (let n = 0; n < 30; n += 1) {
      const at = Math.floor((bytes.length * (n + 30)) / 60);
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    }
    writeFileSync(log, bytes);
    await server.restart();
    const { status, body } = await health("degraded");
    const answers = await Promise.all(made.map((id) => ask(`/session/${id}/status`)));
    const gone = made.filter((_, at) => answers[at]?.status === 404);
    // Some were written before the first changed byte, and some after it.
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.length).toBeLessThan(made.length);
    expect(new Set(answers.map((one) => one.status))).toEqual(new Set([200, 404]));
    expect([status, body.reason]).toEqual([200, "sessions_missing"]);
    expect(body.reasons).toMatchObject([{ sessions: gone.length, tenantId: "local" }]);
    expect(server.said).toContain(`${gone.length} sessions are missing`);
    const listed = await command("missing");
    for (const id of made) expect(listed.stdout.includes(id)).toBe(gone.includes(id));
  });
});
