/** A log of some level has the messages of that level and of the levels after it. */
type LogLevel = "debug" | "info" | "warn" | "error";

/**
 * Every log message, with its level. What has gone wrong in the server is an error; a warning is
 * what an operator should look into, or what cannot be undone.
 */
export const LOG_MESSAGES = {
  request: "debug",
  "log lines lost": "error",
  "token ignored": "warn",
  "request failed": "error",
  "answer failed": "error",
  "answer broken off": "error",
  "store failed": "error",
  "store not loaded": "error",
  "store acted": "info",
  "store active": "debug",
  recovered: "info",
  degraded: "error",
  "no longer degraded": "info",
  "tenant set aside": "error",
  "recovery failed": "error",
  "session set aside": "error",
  "session reopened": "warn",
  "transition refused": "warn",
  "session abandoned: its store does not answer": "error",
  "snapshot not read": "warn",
  "message not told to the agent": "warn",
  "command failed": "error",
  "turn waits for credits": "info",
  "turn stopped: memory": "warn",
  "credits not released": "error",
  "credits not settled": "error",
  "credits not reconciled": "error",
  "credits not swept": "error",
  "reservation without a turn released": "warn",
  "tenant deleted": "warn",
  "homes not removed": "warn",
  "agent copy kept": "warn",
  "orphans ended": "info",
  "agent died": "warn",
  "agent fault": "warn",
  "usage suspect": "warn",
  "child result dropped": "info",
  "mcp server unusable": "warn",
  "no tools for agents": "warn",
  "tool connection refused": "warn",
  "extension says": "info",
  "extensions not found": "warn",
  "extension disabled": "warn",
  "workflow says": "info",
  "workflow aborted": "warn",
  "workflow threw": "error",
  "extension not taken down": "warn",
  "workspace is read-only to agents": "warn",
  "secret needs attention": "warn",
} as const satisfies Readonly<Record<string, LogLevel>>;

export type LogMessage = keyof typeof LOG_MESSAGES;

/** Writes a message for the operator, with its fields. */
export type Log = (what: LogMessage, about: Readonly<Record<string, string | number>>) => void;
