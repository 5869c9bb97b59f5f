import { describe, expect, it } from "vitest";
import type { TenantId } from "../../core/id.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { ACME, tenant } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { activityOf } from "./server-info.ts";
import { heard } from "./work.fixture.ts";

const ownerOf = (tenantId: TenantId) => ({ tenantId, userId: null, role: "owner" }) as const;

describe("P8: what a server is busy with", () => {
  it("is told of one tenant as if there were no other, or of all", async () => {
    const people = await People.open({ settings: { token: "unused", rateLimit: {} } });
    const { daemon, server } = people.world;
    const ada = await people.person("ada", "owner");
    const made = await ada.call("POST", "/session", { body: { sessionScope: "thread" } });
    const path = `/session/${made.body.sessionId}`;
    const stream = await StreamClient.open(people.world, `${path}/events`, ada.headers);
    await ada.call("POST", `${path}/prompt`, { body: { prompt: [{ type: "text", text: "ask" }] } });
    await heard(stream, "permission_request");
    const busy = {
      sessions: 1,
      pendingPermissions: 1,
      activePrompts: 1,
      activeWork: true,
      connectedClients: 1,
      channelAlive: true,
      lastActivityAt: expect.any(String),
    };
    expect(activityOf(daemon, server, ownerOf(ACME))).toMatchObject(busy);
    const all = { ...busy, recovery: { total: 0 }, rateLimitHits: { prompt: 0 } };
    expect(activityOf(daemon, server)).toMatchObject(all);
    // Nothing here reveals other tenants, or how busy they are.
    expect(activityOf(daemon, server, ownerOf(tenant("other")))).toEqual({
      workspaceCount: 1,
      sessions: 0,
      pendingPermissions: 0,
      activePrompts: 0,
      activeWork: false,
      activeWorkReporting: "full",
      activeWorkStaleMs: null,
      connectedClients: 0,
      channelAlive: false,
      lastActivityAt: null,
      idleSinceMs: null,
    });
    stream.leave();
  });
});
