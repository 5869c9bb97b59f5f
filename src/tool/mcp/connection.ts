import type { JsonObject } from "../../core/json.ts";
import {
  MCP_CALL_MS_MAX,
  MCP_CONNECT_MS_MAX,
  MCP_IDLE_MS,
  MCP_LIST_MS_MAX,
  MCP_PATIENCE_MS_MAX,
} from "../../core/limits.ts";
import type { CallResult } from "./content.ts";
import type { McpTool } from "./offer.ts";

/** An open connection to one server. What goes wrong is thrown as an `McpFault`. */
export interface McpConnection {
  tools(): Promise<readonly McpTool[]>;
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult>;
  /** When it answers, nothing of a server that we started is left. */
  close(): Promise<void>;
}

/** Whoever has to know what a server does of its own accord. */
export interface McpEars {
  /** It offers other tools than before. */
  changed(): void;
  /** It is gone, and nobody here closed it. */
  lost(why: string): void;
}

/** How long things may take. */
export interface McpTimes {
  readonly connectMs: number;
  readonly patienceMs: number;
  readonly listMs: number;
  readonly callMs: number;
  readonly idleMs: number;
}

export const USUAL_TIMES: McpTimes = {
  connectMs: MCP_CONNECT_MS_MAX,
  patienceMs: MCP_PATIENCE_MS_MAX,
  listMs: MCP_LIST_MS_MAX,
  callMs: MCP_CALL_MS_MAX,
  idleMs: MCP_IDLE_MS,
};

/** Why there is no answer: the server refused, was too slow, or cannot be heard any more. */
export class McpFault extends Error {
  readonly kind: "refused" | "late" | "lost";

  constructor(kind: McpFault["kind"], reason: string) {
    super(reason);
    this.kind = kind;
  }
}
