export * from "./context-usage.ts";
export * from "./stats-answer.ts";
export * from "./tally.ts";
export * from "./tally-text.ts";
