/** What stores are made of and held by, as `fermata/store`. */
export * from "./backend.ts";
export * from "./case-safe.ts";
export * from "./check.ts";
export * from "./config.ts";
export * from "./holder.ts";
export * from "./locator.ts";
export * from "./manifest.ts";
export * from "./roster.ts";
export * from "./secret.ts";
export * from "./secret-store.ts";
export * from "./store.ts";
export * from "./surface.ts";
