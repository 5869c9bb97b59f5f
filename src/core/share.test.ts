import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SHARE_TIMES_MAX } from "./limits.ts";
import { isShareUsedUp, type ShareCeiling, shareExceeded } from "./share.ts";

type Scope = "tenant" | "user";

const TOTAL = 64;
const KEPT = TOTAL / 4;
const TIMES_FREE: ShareCeiling<Scope> = { kind: "times_free" };
const FIXED: ShareCeiling<Scope> = {
  kind: "fixed",
  most: { tenant: TOTAL / 2, user: TOTAL / 4 },
};

/** One limit and its holders; nothing of it is ever given back. */
class Limit {
  readonly #ceiling: ShareCeiling<Scope>;
  readonly #little: number;
  readonly #held = new Map<string, number>();

  constructor(ceiling: ShareCeiling<Scope>, little: number) {
    this.#ceiling = ceiling;
    this.#little = little;
  }

  heldBy(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  take(tenant: string, user: string, amount = 1) {
    const free = TOTAL - this.heldBy("all");
    const names = { tenant, user: `${tenant}/${user}` };
    const scope = shareExceeded({
      amount,
      free,
      open: free - KEPT,
      little: this.#little,
      ceiling: this.#ceiling,
      holders: [
        { scope: "tenant", held: this.heldBy(names.tenant) },
        { scope: "user", held: this.heldBy(names.user) },
      ],
    });
    const taken = scope === null ? ["all", names.tenant, names.user] : [];
    for (const name of taken) this.#held.set(name, this.heldBy(name) + amount);
    return scope;
  }

  /** Takes piece after piece until one is refused, and says whose share that was. */
  takeAll(tenant: string, user: string) {
    for (let count = 0; count < TOTAL; count += 1) {
      const scope = this.take(tenant, user);
      if (scope !== null) return scope;
    }
    return null;
  }
}

describe("P10: a share of a limit", () => {
  it("is a multiple of what its holder leaves free: alone, one has most of it", () => {
    const limit = new Limit(TIMES_FREE, 1);
    expect(limit.takeAll("acme", "ada")).toBe("user");
    const ofAda = limit.heldBy("acme/ada");
    expect(ofAda).toBeGreaterThan(TOTAL / 3);
    // A second user of the tenant gets less, and then the tenant has its share.
    for (const user of ["ann", "abe", "amy", "al"]) limit.takeAll("acme", user);
    expect(limit.take("acme", "ada")).toBe("tenant");
    const open = TOTAL - KEPT - limit.heldBy("acme");
    expect(limit.heldBy("acme")).toBeGreaterThanOrEqual(SHARE_TIMES_MAX * open);
    expect(open).toBeGreaterThan(0);
  });

  it("is fixed where that is asked for, whether its holder is alone or not", () => {
    const limit = new Limit(FIXED, 4);
    expect(limit.takeAll("acme", "ada")).toBe("user");
    expect(limit.heldBy("acme/ada")).toBe(TOTAL / 4);
    expect(limit.takeAll("acme", "ann")).toBe("tenant");
    expect(limit.heldBy("acme")).toBe(TOTAL / 2);
    // The widest share that is used up is named, not that of the user.
    expect(limit.take("acme", "ada")).toBe("tenant");
  });

  it("must fit: a large amount is refused where a small one passes", () => {
    const limit = new Limit(FIXED, 4);
    expect(limit.take("acme", "ada", TOTAL / 4 - 1)).toBeNull();
    expect(limit.take("acme", "ada", 2)).toBe("user");
    expect(limit.take("acme", "ada", 1)).toBeNull();
  });

  it("binds no one who is no holder, such as the operator, up to the end", () => {
    const all = { amount: 1, open: 0, little: 0, ceiling: TIMES_FREE, holders: [] };
    expect(shareExceeded({ ...all, free: 1 })).toBeNull();
    expect(shareExceeded({ ...all, free: 0 })).toBe("server");
  });

  it("has no end where the limit has none", () => {
    const free = Number.POSITIVE_INFINITY;
    const most = { tenant: free, user: free };
    const holders = [{ scope: "tenant", held: 1_000_000 }] as const;
    const all = { amount: 1, free, open: free, little: 4, holders };
    expect(shareExceeded({ ...all, ceiling: { kind: "fixed", most } })).toBeNull();
  });

  it("of one kind of holder needs only what is held and free", () => {
    expect(isShareUsedUp(SHARE_TIMES_MAX - 1, 1)).toBe(false);
    expect(isShareUsedUp(SHARE_TIMES_MAX, 1)).toBe(true);
    expect(isShareUsedUp(0, 0)).toBe(true);
  });
});

describe("P10: what is kept", () => {
  it.each([
    ["times what is free", TIMES_FREE, 1],
    ["fixed", FIXED, 4],
  ])("is there for a quiet tenant, however others take: %s", (_kind, ceiling, little) => {
    const busy = KEPT / little - 1;
    const taken = fc.record({ tenant: fc.nat(busy - 1), user: fc.nat(3) });
    const many = fc.array(taken, { minLength: TOTAL, maxLength: 6 * TOTAL });
    fc.assert(
      fc.property(many, (some) => {
        const limit = new Limit(ceiling, little);
        for (const { tenant, user } of some) limit.take(`t${tenant}`, `u${user}`);
        expect(limit.take("quiet", "q", little)).toBeNull();
        expect(limit.heldBy("all")).toBeLessThanOrEqual(TOTAL);
      }),
    );
  });
});
