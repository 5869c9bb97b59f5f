import type { Readable } from "node:stream";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { describeGone } from "../../agent/bridge/request.ts";
import type { AgentMarks } from "../../agent/process/marks.ts";
import { AgentProcess, type ProcessOptions } from "../../agent/process/process.ts";
import { profileOf } from "../../agent/profile/profile.ts";
import type { SystemUser } from "../../agent/user/account.ts";
import type { Refusal } from "../../core/error.ts";
import { MCP_MESSAGE_BYTES_MAX, MCP_OUTBOX_BYTES_MAX, RPC_NESTING_MAX } from "../../core/limits.ts";
import { isNestedDeeper } from "../../wire/json.ts";
import { LineSplitter, OVERLONG } from "../../wire/rpc.ts";
import type { McpHttpServer, McpStdioServer, ResolvedServer } from "./config.ts";

/** How servers that are commands are started. */
export interface LaunchOptions {
  /** Their working directory: not a workspace, because all sessions share them. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly marks: AgentMarks;
  /** Their user; null is the server's own. */
  readonly account: SystemUser | null;
}

export function transportTo({ server, secrets }: ResolvedServer, launch: LaunchOptions): Transport {
  if (server.type === "stdio") return overPipes(server, secrets, launch);
  return overHttp(server);
}

/** Passes secret values by reference, so that the error output is shown without them. */
function overPipes(
  { name, command, args, env }: McpStdioServer,
  secrets: readonly string[],
  { folder, marks, env: serverEnv, account }: LaunchOptions,
): StdioTransport {
  const variables = Object.entries(env).map(([variable, value]) => {
    const isSecret = secrets.some((secret) => value.includes(secret));
    return [variable, isSecret ? { from: variable } : value] as const;
  });
  const profile = profileOf({ name, command, args, env: Object.fromEntries(variables), account });
  return new StdioTransport({ profile, cwd: folder, marks, env: { ...serverEnv, ...env } });
}

function overHttp({ type, url, headers }: McpHttpServer): Transport {
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch };
  const address = new URL(url);
  return type === "http"
    ? new StreamableHTTPClientTransport(address, options)
    : new SSEClientTransport(address, options);
}

/**
 * MCP over the pipes of a process that runs like an agent: it leads a process group, carries a
 * mark, gets only the environment that it needs, and ends with all its children (P5). The SDK's own
 * transport does none of this.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #start: ProcessOptions;
  #process: AgentProcess | null = null;
  #starting: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #exit: string | null = null;

  constructor(start: ProcessOptions) {
    this.#start = start;
  }

  /** How the process ended, with its last error output; null while it runs. */
  get exit(): string | null {
    return this.#exit;
  }

  start(): Promise<void> {
    this.#starting ??= this.#launch();
    return this.#starting;
  }

  async #launch(): Promise<void> {
    const started = await AgentProcess.start(this.#start);
    if (!started.ok) throw new Error(reasonOf(started.refusal));
    const process = started.value;
    this.#process = process;
    // A server that closes its output is useless; the children of a dead one may hold it open.
    void Promise.race([this.#read(process.stdout), process.exited]).then(() => this.close());
  }

  /** Bounds what is queued for a server that does not read. */
  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#process?.stdin;
    if (!input?.writable) throw new Error("its input is closed");
    const line = `${JSON.stringify(message)}\n`;
    if (input.writableLength + Buffer.byteLength(line) > MCP_OUTBOX_BYTES_MAX) {
      throw new Error("too much is queued for it already");
    }
    input.write(line);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Also ends a process that is still starting. */
  async #close(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const process = this.#process;
    if (process !== null) {
      const exit = await process.end();
      this.#exit = describeGone({ ...exit, message: process.errorOutput.excerpt() });
    }
    this.onclose?.();
  }

  async #read(output: Readable): Promise<void> {
    const lines = new LineSplitter(MCP_MESSAGE_BYTES_MAX);
    try {
      for await (const chunk of output) {
        const bytes: Buffer = chunk;
        for (const line of lines.feed(bytes)) this.#receive(line);
      }
    } catch {
      // The pipe was closed while it was read.
    }
  }

  /** Skips lines that are no messages, which some servers print as well. */
  #receive(line: string | typeof OVERLONG) {
    if (line === OVERLONG || isNestedDeeper(line, RPC_NESTING_MAX)) return;
    try {
      const message = JSONRPCMessageSchema.safeParse(JSON.parse(line));
      if (message.success) this.onmessage?.(message.data);
    } catch {
      // It is not JSON.
    }
  }
}

/** Words the refusal of a start without speaking of agents. */
function reasonOf({ code, details }: Refusal): string {
  if (code === "agent_command_missing") return `there is no command "${details.command}"`;
  return String(details.reason ?? code);
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` whose response fails when one message in it grows past the limit. A stream of events
 * has no end, so there the count starts anew after each blank line.
 */
const boundedFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  const body = response.body.pipeThrough(messageLimit(MCP_MESSAGE_BYTES_MAX, isStream));
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
};

export function messageLimit(
  bytesMax: number,
  isStream: boolean,
): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      if (bytes > bytesMax) controller.error(new Error("its answer is too large"));
      else controller.enqueue(chunk);
      if (isStream && hasBlankLine(chunk)) bytes = 0;
    },
  });
}

/** It misses a blank line that is split between two chunks, but not the next one. */
function hasBlankLine(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return text.includes("\n\n") || text.includes("\r\n\r\n");
}
