import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { SessionHost } from "../host.ts";
import { PlayedAgents } from "../played-agents.fixture.ts";
import { ada } from "../runtime.fixture.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";
import { type DiskBounds, TenantDisk } from "./tenant-disk.ts";

const OTHER = parseTenantId("other") ?? expect.fail();

/** A disk of which tests say what is free and used; it is looked at each time. */
class PlayedDisk {
  free = 10_000;
  readonly used = new Map([
    [TENANT, 0],
    [OTHER, 0],
  ]);
  readonly disk: TenantDisk;
  looks = 0;
  nowMs = 0;

  constructor(bounds: Partial<DiskBounds>) {
    const look = {
      freeBytes: async () => {
        this.looks += 1;
        return this.free;
      },
      usedBytes: async (tenantId: typeof TENANT) => this.used.get(tenantId) ?? null,
    };
    const all = { tenantBytesMax: null, reserveBytes: 100, ...bounds };
    this.disk = new TenantDisk(look, all, { nowMs: () => this.nowMs });
  }

  async codeFor(tenantId = TENANT) {
    this.nowMs += 10_000;
    return (await this.disk.refusalFor(tenantId))?.code ?? null;
  }
}

describe("P10: the disk", () => {
  it("has a quota for each tenant, and what one uses is not taken from others", async () => {
    const { disk, used, codeFor } = bound(new PlayedDisk({ tenantBytesMax: 1_000 }));
    used.set(TENANT, 999);
    expect(await codeFor()).toBeNull();
    expect(await disk.warningFor(TENANT)).toEqual({ usedBytes: 999, limitBytes: 1_000 });
    used.set(TENANT, 1_000);
    expect([await codeFor(), await codeFor(OTHER)]).toEqual(["disk_quota_exceeded", null]);
    expect(await disk.warningFor(OTHER)).toBeNull();
  });

  it("keeps a reserve, and when little is left those who use most are refused first", async () => {
    const played = new PlayedDisk({});
    played.used.set(TENANT, 5_000);
    played.used.set(OTHER, 50);
    expect(await played.codeFor()).toBeNull();
    played.free = 1_000;
    expect([await played.codeFor(), await played.codeFor(OTHER)]).toEqual(["disk_full", null]);
    played.free = 100;
    expect(await played.codeFor(OTHER)).toBe("disk_full");
  });

  it("is looked at once for many requests", async () => {
    const played = new PlayedDisk({});
    for (let n = 0; n < 100; n += 1) await played.disk.refusalFor(TENANT);
    expect(played.looks).toBe(1);
  });

  it("that is used up refuses sessions and prompts, and lets turns at work end (P2)", async () => {
    const played = new PlayedDisk({ tenantBytesMax: 1_000 });
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const host = new SessionHost({ ...stage.world, agents, disk: played.disk });
    const create = () => {
      const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
      const creation = { ...CREATION, workspaceCwd: stage.folder };
      return host.create({ key, creation, actor: ada });
    };
    const { live } = value(await create());
    const content = [{ type: "text", text: "work" }];
    const request = { content, params: null, idempotency: null, deadlineMs: null, isRetry: false };
    value(await host.prompt(live.key, ada, request));
    await live.until(({ running }) => running !== null);
    played.used.set(TENANT, 1_000);
    played.nowMs += 10_000;
    const tenant = value(host.watchTenant({ tenantId: TENANT, userId: null, role: "owner" }));
    const code = "disk_quota_exceeded";
    expect(await create()).toMatchObject({ refusal: { code } });
    expect(await host.prompt(live.key, ada, request)).toMatchObject({ refusal: { code } });
    agents.last.finish();
    await live.until(({ running }) => running === null);
    expect(live.session.lastTurnError).toBeNull();
    const told = await tenant.next();
    expect(JSON.stringify(told.value?.flatMap(({ frames }) => frames))).toContain("disk_warning");
    tenant.cancel();
    await host.shutDown(AbortSignal.abort());
  });
});

function bound(played: PlayedDisk) {
  const { disk, used } = played;
  return { disk, used, codeFor: (tenantId = TENANT) => played.codeFor(tenantId) };
}
