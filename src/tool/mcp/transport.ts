import type { Readable } from "node:stream";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { describeGone } from "../../agent/bridge/request.ts";
import type { AgentMarks } from "../../agent/process/marks.ts";
import { AgentProcess, type ProcessOptions } from "../../agent/process/process.ts";
import { profileOf } from "../../agent/profile/profile.ts";
import type { Refusal } from "../../core/error.ts";
import { MCP_MESSAGE_BYTES_MAX, MCP_OUTBOX_BYTES_MAX, RPC_NESTING_MAX } from "../../core/limits.ts";
import { isNestedDeeper } from "../../wire/json.ts";
import { LineSplitter, OVERLONG } from "../../wire/rpc.ts";
import type { HttpServer, Resolved, StdioServer } from "./config.ts";

/** What the servers of one configuration have in common. */
export interface McpSetting {
  /** Where servers that are commands run; none of the sessions that share them is preferred. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly marks: AgentMarks;
}

export function transportTo({ server, secrets }: Resolved, setting: McpSetting): Transport {
  if (server.type === "stdio") return overPipes(server, secrets, setting);
  return overHttp(server);
}

/** Values with a secret in them come by reference, so that its last words are shown without. */
function overPipes(
  { name, command, args, env }: StdioServer,
  secrets: readonly string[],
  { folder, marks, env: serverEnv }: McpSetting,
): StdioTransport {
  const variables = Object.entries(env).map(([variable, value]) => {
    const isSecret = secrets.some((secret) => value.includes(secret));
    return [variable, isSecret ? { from: variable } : value] as const;
  });
  const profile = profileOf({ name, command, args, env: Object.fromEntries(variables) });
  return new StdioTransport({ profile, cwd: folder, marks, env: { ...serverEnv, ...env } });
}

function overHttp({ type, url, headers }: HttpServer): Transport {
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch };
  const address = new URL(url);
  return type === "http"
    ? new StreamableHTTPClientTransport(address, options)
    : new SSEClientTransport(address, options);
}

/**
 * MCP over the pipes of a process that is kept like an agent: it leads a group, carries a mark,
 * gets no more of the environment than it has to, and ends with all that it started (P5). The
 * SDK's own transport does none of this.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #order: ProcessOptions;
  #process: AgentProcess | null = null;
  #starting: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #exit: string | null = null;

  constructor(order: ProcessOptions) {
    this.#order = order;
  }

  /** How the process ended, with its last words; null while it lives. */
  get exit(): string | null {
    return this.#exit;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    const started = await AgentProcess.start(this.#order);
    if (!started.ok) throw new Error(reasonOf(started.refusal));
    const process = started.value;
    this.#process = process;
    // Whoever closes its output is of no use, and of one that is dead others may hold it open.
    void Promise.race([this.#read(process.stdout), process.exited]).then(() => this.close());
  }

  /** A server that does not read does not make us keep for it whatever it is sent. */
  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#process?.stdin;
    if (!input?.writable) throw new Error("it takes nothing any more");
    const line = `${JSON.stringify(message)}\n`;
    if (input.writableLength + Buffer.byteLength(line) > MCP_OUTBOX_BYTES_MAX) {
      throw new Error("too much is waiting to be read by it already");
    }
    input.write(line);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** What is still being started when everybody has lost interest is ended as well. */
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
        for (const line of lines.feed(bytes)) this.#hear(line);
      }
    } catch {
      // The pipe was closed under the reader, which is one more way for it to end.
    }
  }

  /** Some servers print other things as well; those are passed over. */
  #hear(line: string | typeof OVERLONG) {
    if (line === OVERLONG || isNestedDeeper(line, RPC_NESTING_MAX)) return;
    try {
      const message = JSONRPCMessageSchema.safeParse(JSON.parse(line));
      if (message.success) this.onmessage?.(message.data);
    } catch {
      // It is not JSON.
    }
  }
}

/** The refusals of an agent's start, without speaking of agents. */
function reasonOf({ code, details }: Refusal): string {
  if (code === "agent_command_missing") return `there is no command "${details.command}"`;
  return String(details.reason ?? code);
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` whose answers end with an error when one message in them grows past the limit. A stream
 * of events may go on for ever, so there it is counted from one blank line to the next.
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

/** A blank line that lies across two chunks is missed, and the next one is not. */
function hasBlankLine(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return text.includes("\n\n") || text.includes("\r\n\r\n");
}
