import { describe, expect, it } from "vitest";
import { fail } from "../core/result.ts";
import { altered } from "../session/altered-store.fixture.ts";
import { withoutPaths } from "./discreet-store.ts";
import { ACME, IdentityWorld } from "./identity/identity.fixture.ts";

async function refusing(code: Parameters<typeof fail>[0], reason: string) {
  const { store } = await IdentityWorld.open();
  const logged: object[] = [];
  const failing = altered(store, { tenants: async () => fail(code, { reason }) });
  const shown = withoutPaths(failing, (what, about) => logged.push({ what, ...about }));
  return { logged, answer: await shown.tenants() };
}

describe("what callers are told of a store that fails", () => {
  it.each([
    "its database /var/lib/fermata/sessions/tenants/acme/sessions.db is gone",
    "ENOSPC: no space left on device, open '/data/my files/x' (free some space on its disk)",
    "its index of sessions: EACCES: permission denied, mkdir '/data/located'",
    "unable to open C:\\data\\sessions.db",
  ])("names no place of the server: %s", async (reason) => {
    const { answer, logged } = await refusing("store_unavailable", reason);
    expect(answer).toEqual(fail("store_unavailable", { reason: "the server's log says why" }));
    const code = "store_unavailable";
    expect(logged).toEqual([{ what: "store failed", operation: "tenants", code, reason }]);
  });

  it("names none if it is damaged, either", async () => {
    const reason = "file /data/sessions.db is not a database";
    const { answer } = await refusing("session_corrupt", reason);
    expect(JSON.stringify(answer)).not.toContain("/data");
  });

  it.each([
    ["store_unavailable", "too much is waiting to be written"],
    ["session_corrupt", "document members/all"],
    ["invalid_store_input", "it begins with /"],
  ] as const)("is what it says where it names none: %s, %s", async (code, reason) => {
    const { answer, logged } = await refusing(code, reason);
    expect(answer).toEqual(fail(code, { reason }));
    expect(logged).toEqual([]);
  });

  it("is all that is changed: what the store knows is told as it is", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    const shown = withoutPaths(world.store, () => {});
    expect(await shown.tenants()).toEqual({ ok: true, value: [ACME] });
    expect(shown.contract).toBe(world.store.contract);
  });
});
