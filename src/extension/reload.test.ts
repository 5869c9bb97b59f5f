import { describe, expect, it } from "vitest";
import { ok } from "../core/result.ts";
import type { EnabledExtension } from "./catalog.ts";
import { manifestOf } from "./manifest.fixture.ts";
import type { ExtensionManifest } from "./manifest.ts";
import { planReload } from "./reload.ts";

function one(
  id: string,
  code: string,
  change: Partial<ExtensionManifest> = {},
  config: EnabledExtension["config"] = {},
): EnabledExtension {
  const manifest = manifestOf(id, change);
  return { manifest, code, config, isCritical: false, module: async () => ok("") };
}

function planOf(
  now: readonly EnabledExtension[],
  next: readonly EnabledExtension[],
  active = now.map(({ manifest }) => manifest.id),
) {
  const plan = planReload(
    { enabled: now, refused: [] },
    { enabled: next, refused: [] },
    new Set(active),
  );
  const { restarted, kept, isInTurn, chosen } = plan;
  const codes = chosen.enabled.map(({ manifest, code }) => `${manifest.id}${code}`).sort();
  return { restarted: [...restarted].sort(), kept, isInTurn, codes };
}

const NEVER = { reloadBehavior: "never" } as const;
const IN_TURN = { reloadBehavior: "in-turn" } as const;

describe("a reload", () => {
  it("restarts what has other code, another configuration, is new or is gone, and no other", () => {
    const now = [one("a", "1"), one("b", "1"), one("c", "1"), one("d", "1")];
    const next = [one("a", "1"), one("b", "2"), one("c", "1", {}, { n: 1 }), one("e", "1")];
    expect(planOf(now, next)).toEqual({
      restarted: ["b", "c", "d", "e"],
      kept: [],
      isInTurn: false,
      codes: ["a1", "b2", "c1", "e1"],
    });
  });

  it("restarts what depends on that, and tries again what did not come up", () => {
    const top = one("top", "1", { dependsOn: { middle: "*" } });
    const now = [one("low", "1"), one("middle", "1", { dependsOn: { low: "*" } }), top];
    expect(planOf(now, [one("low", "2"), ...now.slice(1)]).restarted).toEqual([
      ...["low", "middle", "top"],
    ]);
    expect(planOf(now, now, ["low", "middle"]).restarted).toEqual(["top"]);
  });

  it("keeps what says never of itself, with what it depends on, as long as it is at work", () => {
    const now = [one("low", "1"), one("fixed", "1", { ...NEVER, dependsOn: { low: "*" } })];
    const next = [one("low", "2"), one("fixed", "2", NEVER), one("new", "1", NEVER)];
    expect(planOf(now, next)).toMatchObject({
      restarted: ["new"],
      kept: ["low", "fixed"],
      codes: ["fixed1", "low1", "new1"],
    });
    expect(planOf(now, next, []).kept).toEqual([]);
  });

  it("need not wait for the end of a turn if all that it restarts says so", () => {
    const now = [one("a", "1", IN_TURN), one("b", "1")];
    expect(planOf(now, [one("a", "2", IN_TURN), one("b", "1")]).isInTurn).toBe(true);
    expect(planOf(now, [one("a", "2", IN_TURN), one("b", "2")]).isInTurn).toBe(false);
  });
});
