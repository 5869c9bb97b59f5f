import { describe, expect, it } from "vitest";
import { EXTENSION_SLOT_BYTES_MAX } from "../core/limits.ts";
import { checkSlotAccess, deliveryOf, migratedSlot, SlotDraft, slotText } from "./slot.ts";

type Policy = "migrate" | "warn" | "reject";

function owner(driftPolicy: Policy, slotVersion = "2.0.0") {
  const schema = { type: "object", properties: { n: { type: "integer" } } };
  return { id: "notes", stateSlot: { slotVersion, schema, driftPolicy } };
}

function stored(version: string, text = '{"n":1}') {
  return { version, payload: new TextEncoder().encode(text) };
}

const KEPT = { id: "notes", stateSlot: null };

describe("a stored slot, when its owner comes up", () => {
  it("is not there before it was first written", () => {
    expect(deliveryOf(owner("reject"), null)).toEqual({ kind: "none" });
  });

  it.each<Policy>(["migrate", "warn", "reject"])(
    "of the same version is delivered as it is under %s",
    (policy) => {
      expect(deliveryOf(owner(policy), stored("2.0.0"))).toEqual({
        kind: "as it is",
        value: { n: 1 },
        hasDrifted: false,
      });
    },
  );

  it.each(["1.0.0", "3.0.0"])("of version %s goes by the owner's policy", (version) => {
    expect(deliveryOf(owner("warn"), stored(version))).toMatchObject({
      kind: "as it is",
      hasDrifted: true,
    });
    expect(deliveryOf(owner("migrate"), stored(version))).toEqual({
      kind: "to be migrated",
      stored: { version, value: { n: 1 } },
    });
    expect(deliveryOf(owner("reject"), stored(version))).toMatchObject({
      kind: "withheld",
      refusal: {
        code: "slot_drift_rejected",
        details: { extension: "notes", stored: version, expected: "2.0.0" },
      },
    });
  });

  it("P6: is withheld where it cannot be told what is in it, so that it is not lost", () => {
    const codes = [
      deliveryOf(owner("warn"), stored("")),
      deliveryOf(owner("warn"), stored("2.0.0", "{")),
      deliveryOf(owner("warn"), { version: "2.0.0", payload: Uint8Array.of(0x22, 0xff, 0x22) }),
      deliveryOf(KEPT, stored("2.0.0")),
    ].map((delivery) => delivery.kind === "withheld" && delivery.refusal.code);
    const invalid = ["slot_invalid", "slot_invalid"];
    expect(codes).toEqual(["slot_version_missing", ...invalid, "slot_drift_rejected"]);
  });

  it("is delivered again when its owner goes back to the version that wrote it", () => {
    expect(deliveryOf(owner("reject", "3.0.0"), stored("2.0.0")).kind).toBe("withheld");
    expect(deliveryOf(owner("reject", "2.0.0"), stored("2.0.0")).kind).toBe("as it is");
  });
});

describe("a migration", () => {
  it("answers the slot at the owner's version", () => {
    const answer = { version: "2.0.0", value: { n: 2 } };
    expect(migratedSlot(owner("migrate"), "1.0.0", answer)).toEqual({ ok: true, value: { n: 2 } });
  });

  it.each<[unknown, string]>([
    [undefined, "the migration did not answer {version, value}"],
    [{ value: {} }, "the migration answered version undefined, not 2.0.0"],
    [{ version: "1.0.0", value: {} }, "the migration answered version 1.0.0, not 2.0.0"],
    [{ version: "2.0.0" }, "the migrated value is not valid (slot_invalid)"],
    [{ version: "2.0.0", value: { n: "2" } }, "the migrated value is not valid (slot_invalid)"],
  ])("does not answer %j", (answer, reason) => {
    expect(migratedSlot(owner("migrate"), "1.0.0", answer)).toEqual({
      ok: false,
      refusal: {
        code: "slot_migration_failed",
        details: { extension: "notes", stored: "1.0.0", reason },
      },
    });
  });
});

it("P8: an extension has no slot but its own", () => {
  expect(checkSlotAccess("notes", "notes")).toEqual({ ok: true });
  expect(checkSlotAccess("notes", "fermata.core")).toEqual({
    ok: false,
    refusal: { code: "slot_access_denied", details: { extension: "notes", slot: "fermata.core" } },
  });
});

describe("what an owner keeps", () => {
  it("is plain data of its schema", () => {
    expect(slotText(owner("warn"), { n: 1, more: [null] })).toEqual({
      ok: true,
      value: '{"n":1,"more":[null]}',
    });
  });

  it.each<[string, unknown, string]>([
    ["a function", { n: () => 1 }, "n"],
    ["NaN", { x: Number.NaN }, "x"],
    ["another type", { n: 0.5 }, "n"],
    ["no object", null, "its root"],
  ])("is not %s", (_, value, path) => {
    expect(slotText(owner("warn"), value)).toMatchObject({
      ok: false,
      refusal: { code: "slot_invalid", details: { extension: "notes", path } },
    });
  });

  it("P10: is refused when it is set, if it is too large", () => {
    expect(slotText(owner("warn"), { x: "x".repeat(EXTENSION_SLOT_BYTES_MAX) })).toMatchObject({
      refusal: { code: "slot_too_large", details: { limit: EXTENSION_SLOT_BYTES_MAX } },
    });
  });

  it("is nothing if its manifest declares no slot", () => {
    expect(slotText(KEPT, {})).toMatchObject({ refusal: { code: "slot_invalid" } });
  });
});

describe("a slot between two snapshots", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  it("is what it was when the turn began, if that turn comes to nothing", () => {
    const draft = new SlotDraft({ slotVersion: "2.0.0" }, { text: "1" });
    draft.set("2");
    draft.turnBegins();
    draft.set("3");
    draft.takeBack();
    const slot = { version: "2.0.0", payload: bytes("2") };
    expect(draft.change).toEqual({ kind: "write", slot });
  });

  it("P6: loses nothing of a migrated slot if the first turn comes to nothing", () => {
    const draft = new SlotDraft({ slotVersion: "2.0.0" }, "another version");
    draft.set('{"n":1}');
    draft.turnBegins();
    draft.takeBack();
    expect(draft.text).toBe('{"n":1}');
    // The old one goes when its owner keeps none, although nothing of the new version is stored.
    draft.set(null);
    expect(draft.change).toEqual({ kind: "remove" });
    draft.isStored(null);
    expect(draft.change).toBeNull();
  });
});
