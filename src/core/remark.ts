/** How grave it is: what a log of each level has is what is at least as grave. */
type Gravity = "debug" | "info" | "warn" | "error";

/**
 * All that a server says in its log of what people may want to know. What has gone wrong here is
 * an error; a warning is what an operator should look into, or what cannot be undone.
 */
export const REMARKS = {
  request: "debug",
  "request failed": "error",
  "answer failed": "error",
  "answer broken off": "error",
  "store failed": "error",
  "store not loaded": "error",
  "store acted": "info",
  recovered: "info",
  "recovery failed": "error",
  "session set aside": "error",
  "session reopened": "warn",
  "session abandoned: its store does not answer": "error",
  "snapshot not read": "warn",
  "message not told to the agent": "warn",
  "command failed": "error",
  "turn waits for credits": "info",
  "credits not released": "error",
  "credits not settled": "error",
  "credits not reconciled": "error",
  "credits not swept": "error",
  "reservation without a turn released": "warn",
  "tenant deleted": "warn",
  "orphans ended": "info",
  "agent died": "warn",
  "agent fault": "warn",
  "mcp server unusable": "warn",
} as const satisfies Readonly<Record<string, Gravity>>;

export type Remark = keyof typeof REMARKS;

/** Takes something that a person who runs this server may want to know. */
export type Log = (what: Remark, about: Readonly<Record<string, string | number>>) => void;
