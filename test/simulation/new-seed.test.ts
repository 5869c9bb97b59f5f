import { afterEach, describe, expect, it, vi } from "vitest";
import { newSeed } from "./new-seed.ts";

afterEach(() => void vi.unstubAllEnvs());

describe("a new seed", () => {
  it("is the one that somebody chose, in CI too", () => {
    vi.stubEnv("FERMATA_SEED", "41");
    vi.stubEnv("CI", "true");
    expect(newSeed()).toBe(41);
  });

  it("is in CI the same for the same commit", () => {
    vi.stubEnv("FERMATA_SEED", undefined);
    vi.stubEnv("CI", "true");
    const seed = newSeed();
    expect(newSeed()).toBe(seed);
    expect(Number.isSafeInteger(seed)).toBe(true);
  });

  it("is 1 in CI where there is no git", () => {
    vi.stubEnv("FERMATA_SEED", undefined);
    vi.stubEnv("CI", "true");
    vi.stubEnv("PATH", "");
    expect(newSeed()).toBe(1);
  });

  it("is another each time elsewhere", () => {
    vi.stubEnv("FERMATA_SEED", undefined);
    vi.stubEnv("CI", "");
    vi.spyOn(Date, "now").mockReturnValueOnce(41).mockReturnValueOnce(42);
    expect([newSeed(), newSeed()]).toEqual([41, 42]);
    vi.restoreAllMocks();
  });
});
