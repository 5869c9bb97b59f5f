import { describe, expect, it } from "vitest";
import { tenant, user } from "./identity.fixture.ts";
import { VerifiedCallers } from "./jwt.ts";

const ADA = { tenantId: tenant("acme"), userId: user("ada"), role: "member" } as const;

describe("what was verified", () => {
  it("is known until its time is over", () => {
    const world = { nowMs: 0 };
    const verified = new VerifiedCallers(2, () => world.nowMs);
    verified.keep("a", ADA, 10);
    world.nowMs = 9;
    expect(verified.find("a")).toBe(ADA);
    expect(verified.find("b")).toBeNull();
    world.nowMs = 10;
    expect(verified.find("a")).toBeNull();
  });

  it("is not known before it was verified, as after a clock was set back", () => {
    const world = { nowMs: 100 };
    const verified = new VerifiedCallers(2, () => world.nowMs);
    verified.keep("a", ADA, 110);
    world.nowMs = 99;
    expect(verified.find("a")).toBeNull();
  });

  it("P10: is so much at most; the oldest goes, and what is verified again is new", () => {
    const verified = new VerifiedCallers(2, () => 0);
    for (const hash of ["a", "b", "a", "c"]) verified.keep(hash, ADA, 10);
    const known = ["a", "b", "c"].filter((hash) => verified.find(hash) !== null);
    expect(known).toEqual(["a", "c"]);
  });
});
