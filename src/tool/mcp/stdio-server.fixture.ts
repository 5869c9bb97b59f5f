// An MCP server on its pipes, with tools that behave in every way that a tool can behave. How it
// behaves itself is said by its arguments.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const flags = new Set(process.argv.slice(2));
const journal = process.env.JOURNAL ?? "/dev/null";
const note = (line: string) => appendFileSync(journal, `${line}\n`);
const say = (message: object) => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
};
const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const TEXT_INPUT = {
  type: "object",
  properties: { text: { type: "string" }, times: { type: "integer" } },
  required: ["text"],
};
const ANY_INPUT = { type: "object" };
const PICTURE = { type: "image", data: "AAAA", mimeType: "image/png" };
const LINK = { type: "resource_link", uri: "file:///a", name: "a" };
const EMBEDDED = { type: "resource", resource: { uri: "file:///b", text: "embedded" } };

interface Tool {
  readonly inputSchema?: object;
  readonly annotations?: object;
  /** Null for none. */
  run(input: Readonly<Record<string, unknown>>): object | null;
}

const tools = new Map<string, Tool>([
  [
    "echo",
    {
      inputSchema: TEXT_INPUT,
      annotations: { readOnlyHint: true },
      run: ({ text: said, times }) => text(`${said}`.repeat(Number(times ?? 1))),
    },
  ],
  ["pid", { run: () => text(`${process.pid}`) }],
  ["variables", { run: () => text(JSON.stringify(process.env)) }],
  ["failing", { run: () => ({ ...text("it broke"), isError: true }) }],
  ["mixed", { run: () => ({ content: [...text("one").content, PICTURE, LINK, EMBEDDED, 7] }) }],
  ["structured", { run: () => ({ content: [], structuredContent: { a: 1 } }) }],
  ["huge", { run: () => text("x".repeat(1_000_000)) }],
  ["slow", { run: () => null }],
  [
    "crash",
    {
      run: () => {
        process.stderr.write(`giving up with ${process.env.CRASH_SECRET}\n`);
        process.exit(3);
      },
    },
  ],
  [
    "family",
    {
      run: () => {
        const child = spawn("sleep", ["1000"], { stdio: "ignore" });
        const far = spawn("sleep", ["1000"], { stdio: "ignore", detached: true });
        return text(JSON.stringify([process.pid, child.pid, far.pid]));
      },
    },
  ],
  [
    "grow",
    {
      run: () => {
        tools.set("grown", { run: () => text("grown up") });
        say({ method: "notifications/tools/list_changed" });
        return text("grew");
      },
    },
  ],
]);

function listed(cursor: unknown) {
  const all: object[] = [...tools].map(([name, { inputSchema = ANY_INPUT, annotations }]) => ({
    name,
    description: `What ${name} does`,
    inputSchema,
    annotations,
  }));
  if (flags.has("--odd-tools")) all.unshift({ name: 7 }, { name: "a b" }, { name: "" });
  if (flags.has("--endless")) return { tools: all.slice(0, 1), nextCursor: "more" };
  if (!flags.has("--pages")) return { tools: all };
  const at = Number(cursor ?? 0);
  const next = at + 2 < all.length ? { nextCursor: `${at + 2}` } : {};
  return { tools: all.slice(at, at + 2), ...next };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

function serve({ id, method = "", params = {} }: Message) {
  note(method);
  if (method === "initialize" && !flags.has("--mute")) {
    const serverInfo = { name: "fixture", version: "1" };
    const capabilities = { tools: { listChanged: true } };
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
  }
  if (method === "tools/list" && flags.has("--no-list")) {
    say({ id, error: { code: -32_603, message: "no list today" } });
  } else if (method === "tools/list") say({ id, result: listed(params.cursor) });
  if (method === "tools/call") call(id, params);
}

function call(id: number | undefined, { name, arguments: input }: Message["params"] & object) {
  const tool = tools.get(String(name));
  if (tool === undefined) {
    say({ id, error: { code: -32_602, message: `no tool ${name}` } });
    return;
  }
  const result = tool.run(Object(input));
  if (result !== null) say({ id, result });
}

if (flags.has("--dead-long")) {
  process.stderr.write(`${process.env.CRASH_SECRET}${"x".repeat(2_040)}`);
  process.exit(2);
}
if (flags.has("--dead")) {
  process.stderr.write(`cannot live with ${process.env.CRASH_SECRET}\n`);
  process.exit(2);
}
note(`start ${process.pid}`);
if (flags.has("--stubborn")) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1_000);
}
if (flags.has("--noisy")) process.stdout.write('hello!\n{"half": \n[1]\n\n{"jsonrpc":"2.0"}\n');
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => serve(JSON.parse(line)));
