import type { StoreHarness } from "../kit/index.ts";
import type { SessionStore } from "../store.ts";
import { memoryStore } from "./store.ts";

/** The kit's world for a store that has none: no files, and nothing that outlives an instance. */
export function memoryHarness(store: () => SessionStore = () => memoryStore()): StoreHarness {
  return {
    store,
    makePlace: async () => "",
    clearPlace: async () => {},
    samples: () => ({
      valid: { active: true },
      invalid: { config: { active: 1 }, path: "active" },
      hostile: [{ active: { valueOf: () => true } }],
      unreachable: [],
    }),
    persists: false,
    world: {},
  };
}
