import { type StoreHarness, volatileHarness } from "../kit/index.ts";
import type { SessionStore } from "../store.ts";
import { memoryStore } from "./store.ts";

export function memoryHarness(store: () => SessionStore = () => memoryStore()): StoreHarness {
  return volatileHarness(store);
}
