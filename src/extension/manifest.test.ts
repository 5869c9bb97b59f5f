import { describe, expect, it } from "vitest";
import { manifestOf } from "./manifest.fixture.ts";
import {
  checkActive,
  EXTENSION_CONTRACT_VERSION,
  readExtensionConfig,
  readExtensionManifest,
} from "./manifest.ts";

const CORE = "0.1.0";

/** The fault of a manifest that differs in this from one without any. */
function faultWith(change: object) {
  const read = readExtensionManifest({ ...manifestOf("notes"), ...change }, CORE);
  return read.ok ? null : read.refusal;
}

describe("a manifest", () => {
  it("may be short", () => {
    const { id, kind, version, contractVersion, requiredCoreVersion, main } = manifestOf("notes");
    const short = { id, kind, version, contractVersion, requiredCoreVersion, main };
    expect(readExtensionManifest(short, CORE)).toMatchObject({
      ok: true,
      value: { id: "notes", stateSlot: null, reloadBehavior: "between-turns", hooks: [] },
    });
  });

  it.each<[object, string, string]>([
    [{ id: "fermata.core" }, "id", "it must have small letters, digits and dashes, at most 64"],
    [{ id: "../up" }, "id", "it must have small letters, digits and dashes, at most 64"],
    [{ kind: "plugin" }, "kind", ""],
    [{ version: "latest" }, "version", "it is not a version such as 1.0.0"],
    [{ main: "../../other/index.js" }, "main", ""],
    [{ main: "/etc/index.js" }, "main", ""],
    [{ main: "index.cjs" }, "main", ""],
    [{ surprise: 1 }, "surprise", "there is no such field"],
    [{ hook: ["before_turn"] }, "hook", 'there is no such field (did you mean "hooks"?)'],
    [{ hooks: ["before_everything"] }, "hooks.0", ""],
    [{ reloadBehavior: "soon" }, "reloadBehavior", ""],
    [{ contractVersion: "one" }, "contractVersion", "it is not a version such as 1.0.0"],
    [
      { contractVersion: "1.1.0" },
      "contractVersion",
      "it is for version 1.1.0 of the contract, and this Fermata has 1.0.0",
    ],
    [{ contractVersion: "2.0.0" }, "contractVersion", ""],
    [{ requiredCoreVersion: "soon" }, "requiredCoreVersion", "it is not a range such as >=0.1.0"],
    [
      { requiredCoreVersion: "^2.0.0" },
      "requiredCoreVersion",
      "it needs Fermata ^2.0.0, and this is 0.1.0; update the one or the other",
    ],
    [
      { kind: "workflow", activeCardinality: "unlimited" },
      "activeCardinality",
      "for the kind workflow it is one",
    ],
    [{ loadedCardinality: "one" }, "loadedCardinality", "for the kind extension it is unlimited"],
    [{ dependsOn: { notes: "*" } }, "dependsOn.notes", "it cannot depend on itself"],
    [{ dependsOn: { other: "new" } }, "dependsOn.other", "it is not a range such as ^1.0.0"],
    [
      { dependsOn: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`a${n}`, "*"])) },
      "dependsOn",
      "there are more than 32",
    ],
    [
      { configSchema: { properties: { x: { pattern: "^a" } } } },
      "configSchema.properties.x.pattern",
      "there is no such keyword here",
    ],
    [
      { stateSlot: { slotVersion: "1.0.0", schema: { type: "any" }, driftPolicy: "warn" } },
      "stateSlot.schema.type",
      "the keyword does not take this value",
    ],
    [
      { stateSlot: { slotVersion: "1", schema: {}, driftPolicy: "warn" } },
      "stateSlot.slotVersion",
      "it is not a version such as 1.0.0",
    ],
    [
      { stateSlot: { slotVersion: "1.0.0", schema: {}, driftPolicy: "guess" } },
      "stateSlot.driftPolicy",
      "",
    ],
  ])("with %j is refused at %s", (change, path, reason) => {
    const why = faultWith(change);
    expect(why).toMatchObject({ code: "invalid_extension", details: { path } });
    if (reason !== "") expect(why?.details.reason).toBe(reason);
  });

  it.each([null, [], "notes", 1])("is not %j", (value) => {
    expect(readExtensionManifest(value, CORE)).toMatchObject({
      ok: false,
      refusal: { code: "invalid_extension", details: { extension: "?", path: "its manifest" } },
    });
  });

  it("is looked at in order: a wrong shape hides a wrong version, and that hides a schema", () => {
    const wrong = { contractVersion: "9.0.0", configSchema: { $ref: "#" } };
    expect(faultWith({ ...wrong, kind: "plugin" })?.details.path).toBe("kind");
    expect(faultWith(wrong)?.details.path).toBe("contractVersion");
    expect(faultWith({ configSchema: wrong.configSchema })?.details.path).toBe("configSchema.$ref");
  });

  it("is for the version of the contract that is documented", () => {
    expect(faultWith({ contractVersion: EXTENSION_CONTRACT_VERSION })).toBeNull();
  });
});

describe("a configuration", () => {
  const manifest = {
    ...manifestOf("guard"),
    configSchema: {
      type: "object",
      additionalProperties: false,
      required: ["paths"],
      properties: { paths: { type: "array", items: { type: "string" } } },
    },
  };

  it("is what the extension's schema takes", () => {
    expect(readExtensionConfig(manifest, { paths: ["/etc"] }, 1_000)).toEqual({
      ok: true,
      value: { paths: ["/etc"] },
    });
  });

  it.each<[unknown, string, string]>([
    [null, "its root", "it must be an object"],
    [{}, "its root", 'it must have "paths"'],
    [{ paths: [1] }, "paths.0", "it must be of the type string"],
    [{ paths: [], path: 1 }, "path", "there is no such option"],
    [{ paths: ["x".repeat(1_000)] }, "its root", "it is too large"],
  ])("is not %j", (config, path, reason) => {
    expect(readExtensionConfig(manifest, config, 1_000)).toEqual({
      ok: false,
      refusal: { code: "invalid_extension_config", details: { extension: "guard", path, reason } },
    });
  });
});

describe("cardinality", () => {
  it("lets many extensions be active, and one workflow", () => {
    const workflows = [manifestOf("b"), manifestOf("a")].map((one) => {
      return { ...one, kind: "workflow" as const };
    });
    expect(checkActive([manifestOf("c"), manifestOf("d"), ...workflows.slice(1)])).toMatchObject({
      ok: true,
    });
    expect(checkActive(workflows)).toMatchObject({
      ok: false,
      refusal: {
        code: "extension_cardinality",
        details: { kind: "workflow", limit: 1, active: "a, b" },
      },
    });
  });
});
