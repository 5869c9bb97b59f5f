import { describe, expect, it } from "vitest";
import { memoryStore } from "./memory/store.ts";
import { activateStore } from "./roster.ts";
import { HOST } from "./sample.fixture.ts";
import type { SessionStore } from "./store.ts";

const none = () => expect.unreachable("nothing should be warned of");

describe("of the stores that are loaded", () => {
  it("the one that is active becomes the session store", async () => {
    const [first, second] = [memoryStore(), memoryStore()];
    const candidates = [
      { store: first, config: {} },
      { store: second, config: { active: true } },
    ];
    const chosen = await activateStore(candidates, HOST, none);
    expect(chosen).toEqual({ ok: true, value: second });
  });

  it("exactly one must be active, and those that are switched off do not count", async () => {
    const active = () => ({ store: memoryStore(), config: { active: true } });
    const off = { store: memoryStore(), config: { active: true, enabled: false } };
    const refusal = (names: string) => ({
      ok: false,
      refusal: { code: "store_cardinality", details: { active: names } },
    });
    expect(await activateStore([], HOST, none)).toEqual(refusal("none"));
    expect(await activateStore([off], HOST, none)).toEqual(refusal("none"));
    const two = await activateStore([active(), active()], HOST, none);
    expect(two).toEqual(refusal("memory, memory"));
    expect(await activateStore([active(), off], HOST, none)).toMatchObject({ ok: true });
  });

  it("an inactive one that fails is mentioned, the active one ends the start", async () => {
    const broken = { store: memoryStore(), config: { surprise: 1 } };
    const good = { store: memoryStore(), config: { active: true } };
    const warned: string[] = [];
    const warn = (storeId: string) => warned.push(storeId);
    expect(await activateStore([broken, good], HOST, warn)).toMatchObject({ ok: true });
    expect(warned).toEqual(["memory"]);
    const other: SessionStore = memoryStore();
    const bad = { store: memoryStore(), config: { active: true, surprise: 1 } };
    const failed = await activateStore([{ store: other, config: {} }, bad], HOST, none);
    expect(failed).toMatchObject({ refusal: { code: "invalid_store_config" } });
    expect(await other.tenants()).toMatchObject({ refusal: { code: "store_unavailable" } });
  });
});
