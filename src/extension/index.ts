/** What authors of extensions need: `import type { MakeExtension } from "fermata/extension"`. */
export type * from "./contract.ts";
export type * from "./hook.ts";
export type { ExtensionManifest, SlotDeclaration } from "./manifest.ts";
export type { PlainData } from "./plain-data.ts";
export type { StoredSlot } from "./slot.ts";
