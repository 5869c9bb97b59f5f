import type { TenantId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { ToolAnswer } from "./tool.ts";

/**
 * Tools of the server that the model of an agent can call, through an MCP server that the agent
 * gets with its session. A toolbox holds those of one session at its agent.
 */
export interface Toolboxes {
  /**
   * Opens a toolbox, for as long as the session is at that agent. Where there can be none, it
   * answers with a sentence that says why: then the agent goes on without these tools.
   */
  open(request: ToolboxRequest, tools: readonly OfferedTool[]): Toolbox | string;
}

export interface ToolboxRequest {
  readonly tenantId: TenantId;
  /** The name of the agent's profile. */
  readonly agent: string;
}

export interface Toolbox {
  /**
   * The MCP server, in the form of ACP. A variable of it holds a secret in plain text: it is for
   * this session's agent alone, and must not be stored or shown.
   */
  readonly server: JsonObject;
  /**
   * Resolves when all calls have come in that the agent has made so far. An agent that does not
   * answer for them in time is not waited for, then and later.
   */
  settled(): Promise<void>;
  /** Aborts the calls that are open; later ones get nothing. The processes of it end. */
  close(): void;
}

/** One tool, for one session. */
export interface OfferedTool {
  readonly name: string;
  /** For the model. */
  readonly description: string;
  /** A JSON Schema. Calls with missing arguments, or of a wrong simple type, do not come here. */
  readonly inputSchema: JsonObject;
  /** Whether it changes nothing: some agents then do not ask people. */
  readonly isReadOnly: boolean;
  /**
   * Runs a call; a failure is an answer, too. What it answers after the signal has fired goes
   * nowhere. A tool has time limits of its own.
   */
  call(input: JsonObject, use: ToolUse): Promise<ToolAnswer>;
}

/** One call of a tool. */
export interface ToolUse {
  /** The agent's id of the call; no other call that is open in this toolbox has it. */
  readonly callId: string;
  /** What the agent sent beside the arguments (`_meta`). */
  readonly meta: JsonObject;
  /** Fires when the agent withdraws the call or is gone, and when the toolbox is closed. */
  readonly signal: AbortSignal;
  /** Says what is being done, to an agent that shows it. */
  progress(message: string): void;
}

/** The name of that MCP server, which agents and their models see. */
export const TOOLBOX_NAME = "fermata";
