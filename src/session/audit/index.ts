export { isRefusalAudited } from "./audited-refusals.ts";
export * from "./entries.ts";
