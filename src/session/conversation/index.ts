export * from "./message.ts";
export * from "./past.ts";
export * from "./turn-messages.ts";
