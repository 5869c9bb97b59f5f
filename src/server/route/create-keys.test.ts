import { describe, expect, it } from "vitest";
import { parseClientId, type TenantId } from "../../core/id.ts";
import { IDEMPOTENCY_AGE_MS_MAX, IDEMPOTENCY_KEYS_MAX } from "../../core/limits.ts";
import { given, RANDOM_IDS, REAL_CLOCK } from "../../session/world.fixture.ts";
import { openMemoryStore } from "../../store/sample.fixture.ts";
import { LOCAL } from "../daemon.fixture.ts";
import { granted } from "../http/server.fixture.ts";
import { CreateKeys, nameOfKey } from "./create.ts";

const TENANT: TenantId = LOCAL.tenantId;

function wanted(key: string, bodyHash = "body") {
  const clientId = given(parseClientId("ada"));
  const ids = { sessionId: RANDOM_IDS.session(), clientId };
  return { name: nameOfKey(null, key), bodyHash, ...ids, attached: false };
}

describe("the keys of creates", () => {
  it("P2: stand for the first that was claimed, whoever reads them", async () => {
    const store = await openMemoryStore();
    const first = wanted("k");
    const [here, there] = [new CreateKeys(store, REAL_CLOCK), new CreateKeys(store, REAL_CLOCK)];
    const claims = await Promise.all([
      here.claim(TENANT, first),
      ...Array.from({ length: 6 }, (_, n) => (n % 2 ? here : there).claim(TENANT, wanted("k"))),
    ]);
    const names = claims.map((claim) => granted(claim).sessionId);
    expect(new Set(names).size).toBe(1);
    expect(claims.filter((claim) => granted(claim).isNew)).toHaveLength(1);
    const other = await there.claim(TENANT, wanted("k", "another"));
    expect(other).toMatchObject({ refusal: { code: "idempotency_conflict" } });
  });

  it("P10: are the last 256, and not older than a day", async () => {
    const store = await openMemoryStore();
    let aheadMs = 0;
    const keys = new CreateKeys(store, { ...REAL_CLOCK, nowMs: () => Date.now() + aheadMs });
    for (let n = 0; n <= IDEMPOTENCY_KEYS_MAX; n += 1) {
      granted(await keys.claim(TENANT, wanted(`k${n}`)));
    }
    const isNew = async (key: string) => granted(await keys.claim(TENANT, wanted(key))).isNew;
    expect(await isNew("k2")).toBe(false);
    expect(await isNew("k0")).toBe(true);
    aheadMs = IDEMPOTENCY_AGE_MS_MAX + 1;
    expect(await isNew("k2")).toBe(true);
  });

  it("are forgotten if they came to nothing, and corrected if to something else", async () => {
    const keys = new CreateKeys(await openMemoryStore(), REAL_CLOCK);
    const first = granted(await keys.claim(TENANT, wanted("k")));
    const { isNew: _, ...kept } = first;
    const sessionId = RANDOM_IDS.session();
    granted(await keys.correct(TENANT, { ...kept, sessionId, attached: true }));
    const again = granted(await keys.claim(TENANT, wanted("k")));
    expect(again).toMatchObject({ sessionId, attached: true, isNew: false });
    granted(await keys.forget(TENANT, kept.name));
    expect(granted(await keys.claim(TENANT, wanted("k", "another"))).isNew).toBe(true);
  });

  it("P6: that cannot be read hinder nobody", async () => {
    const store = await openMemoryStore();
    const broken = { kind: "idempotency", key: "creates", expectedVersion: 0 };
    granted(await store.writeDocument(TENANT, { ...broken, value: { creates: ["?"] } }));
    const keys = new CreateKeys(store, REAL_CLOCK);
    expect(granted(await keys.claim(TENANT, wanted("k"))).isNew).toBe(true);
  });
});
