/** Every answer to a slash command, by family: a stable code, a sentence, and what goes with it. */
export * from "./reply/agents.ts";
export * from "./reply/bad-input.ts";
export * from "./reply/help.ts";
export * from "./reply/invocation.ts";
export * from "./reply/lifetime.ts";
export * from "./reply/reload.ts";
export * from "./reply/setting.ts";
export * from "./reply/skills.ts";
