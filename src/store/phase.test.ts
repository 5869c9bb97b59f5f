import { describe, expect, it } from "vitest";
import { StoreLife } from "./lifecycle.ts";

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
