export * from "./export.ts";
export { ExportBroken, storeSource } from "./source.ts";
