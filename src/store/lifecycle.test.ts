import { describe, expect, it } from "vitest";
import { activateStore, StoreLife } from "./lifecycle.ts";
import { memoryStore } from "./memory/store.ts";
import { HOST } from "./sample.fixture.ts";
import type { SessionStore } from "./store.ts";

const unavailable = (reason: string) => ({
  ok: false,
  refusal: { code: "store_unavailable", details: { reason } },
});

function begun(life: StoreLife): number {
  const beginning = life.begin();
  return beginning.ok ? beginning.value : expect.unreachable("it may begin");
}

describe("the life of a store", () => {
  it("is initialised once, and says so to whoever tries again", () => {
    const life = new StoreLife();
    const beginning = begun(life);
    expect(life.begin()).toEqual(unavailable("it is still being initialised"));
    expect(life.succeeded(beginning, true)).toEqual({ ok: true });
    expect(life.begin()).toEqual(unavailable("it is already initialised"));
    life.activate();
    expect(life.begin()).toEqual(unavailable("it is active already"));
    life.deactivated();
    expect(life.begin()).toEqual(unavailable("it has been deactivated"));
  });

  it("takes neither reads nor writes nor activation until it is initialised", () => {
    const life = new StoreLife();
    begun(life);
    const still = unavailable("it is still being initialised");
    expect(life.forReading()).toEqual(still);
    expect(life.forWriting()).toEqual(still);
    expect(life.activate()).toEqual(still);
  });

  it("begins again after a failure and after a disposal", () => {
    const life = new StoreLife();
    life.failed(begun(life));
    expect(life.forReading()).toEqual(unavailable("it has not been initialised"));
    expect(life.succeeded(begun(life), true)).toMatchObject({ ok: true });
    life.disposed();
    expect(life.succeeded(begun(life), true)).toMatchObject({ ok: true });
    expect(life.activate()).toMatchObject({ ok: true });
  });

  it("is not brought back by an opening that outlasted it", () => {
    const life = new StoreLife();
    const first = begun(life);
    life.disposed();
    const ended = unavailable("it was ended while it was initialised");
    expect(life.succeeded(first, true)).toEqual(ended);
    expect(life.forReading()).toEqual(unavailable("it has been disposed of"));
    const second = begun(life);
    expect(life.succeeded(first, true)).toEqual(ended);
    life.failed(first);
    expect(life.succeeded(second, true)).toMatchObject({ ok: true });
  });

  it("is activated only if its configuration says so", () => {
    const life = new StoreLife();
    life.succeeded(begun(life), false);
    expect(life.activate()).toEqual(unavailable("it is not the active store"));
    expect(life.forReading()).toMatchObject({ ok: true });
    expect(life.forWriting()).toEqual(unavailable("it is not the active store"));
  });
});

const none = () => expect.unreachable("nothing should be warned of");

/** A store like any other, under a name of its own. */
function storeCalled(storeId: string, change: Partial<SessionStore> = {}): SessionStore {
  const store = memoryStore();
  return Object.assign(store, { contract: { ...store.contract, storeId } }, change);
}

const on = { active: true };

describe("of the stores that are loaded", () => {
  it("the one that is active becomes the session store", async () => {
    const [first, second] = [storeCalled("first"), storeCalled("second")];
    const candidates = [
      { store: first, config: {} },
      { store: second, config: on },
    ];
    const chosen = await activateStore(candidates, HOST, none, "0.1.0");
    expect(chosen).toEqual({ ok: true, value: second });
  });

  it("exactly one must be active, and those that are switched off do not count", async () => {
    const active = (name: string) => ({ store: storeCalled(name), config: on });
    const off = { store: storeCalled("a"), config: { active: true, enabled: false } };
    const refusal = (names: string) => ({
      ok: false,
      refusal: { code: "store_cardinality", details: { active: names } },
    });
    expect(await activateStore([], HOST, none, "0.1.0")).toEqual(refusal("none"));
    expect(await activateStore([off], HOST, none, "0.1.0")).toEqual(refusal("none"));
    const two = await activateStore([active("a"), active("b")], HOST, none, "0.1.0");
    expect(two).toEqual(refusal("a, b"));
    expect(await activateStore([active("a"), off], HOST, none, "0.1.0")).toMatchObject({
      ok: true,
    });
  });

  it("no two may have one name, or a manifest would not say who wrote it", async () => {
    const [first, second] = [storeCalled("same"), storeCalled("same")];
    const candidates = [
      { store: first, config: {} },
      { store: second, config: on },
    ];
    expect(await activateStore(candidates, HOST, none, "0.1.0")).toEqual({
      ok: false,
      refusal: {
        code: "invalid_store_config",
        details: { path: "storeId", reason: 'two loaded stores are called "same"' },
      },
    });
    expect(await second.tenants()).toMatchObject({ refusal: { code: "store_unavailable" } });
  });

  it("an inactive one that fails is mentioned, the active one ends the start", async () => {
    const broken = { store: storeCalled("broken"), config: { surprise: 1 } };
    const good = { store: storeCalled("good"), config: on };
    const warned: string[] = [];
    const warn = (storeId: string) => warned.push(storeId);
    expect(await activateStore([broken, good], HOST, warn, "0.1.0")).toMatchObject({ ok: true });
    expect(warned).toEqual(["broken"]);
    const other = storeCalled("other");
    const bad = { store: storeCalled("bad"), config: { active: true, surprise: 1 } };
    const failed = await activateStore([{ store: other, config: {} }, bad], HOST, none, "0.1.0");
    expect(failed).toMatchObject({ refusal: { code: "invalid_store_config" } });
    expect(await other.tenants()).toMatchObject({ refusal: { code: "store_unavailable" } });
  });
});

describe("a store that throws, against its promise,", () => {
  const throws = () => {
    throw new Error("as it likes");
  };
  const rejects = () => Promise.reject(new Error("as it likes"));
  const answersNothing = async () => JSON.parse("null");
  const ways = [throws, rejects, answersNothing];

  it.each(ways)("is only mentioned while it is inactive (%o)", async (way) => {
    const store = storeCalled("foreign", { init: way, dispose: way });
    const warned: unknown[] = [];
    const warn = (storeId: string, { code }: { code: string }) => warned.push([storeId, code]);
    const good = { store: storeCalled("good"), config: on };
    const started = await activateStore([{ store, config: {} }, good], HOST, warn, "0.1.0");
    expect(started).toMatchObject({ ok: true });
    expect(warned).toEqual([["foreign", "store_unavailable"]]);
  });

  it.each(ways)("ends the start with a code if it is the active one (%o)", async (way) => {
    const other = storeCalled("other");
    for (const change of [
      { init: way, dispose: way },
      { activate: way, dispose: way },
    ]) {
      const candidates = [
        { store: storeCalled("foreign", change), config: on },
        { store: other, config: {} },
      ];
      const failed = await activateStore(candidates, HOST, none, "0.1.0");
      expect(failed).toMatchObject({ ok: false, refusal: { code: "store_unavailable" } });
      expect(await other.tenants()).toMatchObject({ refusal: { code: "store_unavailable" } });
    }
  });
});
