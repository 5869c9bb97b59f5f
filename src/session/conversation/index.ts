export * from "./message.ts";
export * from "./past.ts";
export * from "./stored-messages.ts";
export * from "./turn-messages.ts";
