import type { ExtensionManifest } from "./manifest.ts";

/** A manifest without a fault, and without anything that is not needed. */
export function manifestOf(id: string, change: Partial<ExtensionManifest> = {}): ExtensionManifest {
  return {
    id,
    kind: "extension",
    version: "1.0.0",
    contractVersion: "1.0.0",
    requiredCoreVersion: ">=0.1.0",
    main: "index.js",
    description: "",
    dependsOn: {},
    configSchema: { type: "object" },
    stateSlot: null,
    reloadBehavior: "between-turns",
    hooks: [],
    events: [],
    ...change,
  };
}
