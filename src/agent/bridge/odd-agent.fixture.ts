// An agent that is odd in one way, which its first argument names.

import { spawn } from "node:child_process";
import { closeSync, existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../core/json.ts";

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
};

/** What it says to one call, all in one write; null if it says nothing. */
type Way = (message: Message) => readonly object[] | null;

const [how = ""] = process.argv.slice(2);
const SECRET = process.env.API_KEY ?? "";

const result = (id: unknown, value: object) => ({ id, result: value });
const error = (id: unknown, code: number, message: string, details?: string) => ({
  id,
  error: { code, message, ...(details === undefined ? {} : { data: { details } }) },
});
const update = (value: object, sessionId = "S") => ({
  method: "session/update",
  params: { sessionId, update: value },
});
const say = (text: string) =>
  update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const times = (count: number, one: (n: number) => object) =>
  Array.from({ length: count }, (_, n) => one(n));
const model = (currentValue: string) => ({
  configOptions: [{ id: "model", category: "model", type: "select", currentValue, options: [] }],
});

const OFFERS: Readonly<Record<string, object>> = {
  forks: { fork: {} },
  "makes-late": { close: {} },
};

/** What an agent keeps in mind between two lines. */
const held = { id: 0, calls: 0, answers: 0, said: [] as string[] };

const read = (id: string, name: string) => ({
  id,
  method: "fs/read_text_file",
  params: { sessionId: "S", path: `${process.cwd()}/${name}` },
});

const permission = (id: string) => {
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const params = { sessionId: "S", toolCall: { toolCallId: "t" }, options };
  return { id, method: "session/request_permission", params };
};

/** All kinds of what is said again of a conversation. */
const past = (text: string) => [
  ...["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"].map((sessionUpdate) =>
    update({ sessionUpdate, content: { type: "text", text } }),
  ),
  update({ sessionUpdate: "tool_call", toolCallId: text, title: text, status: "pending" }),
  update({ sessionUpdate: "tool_call_update", toolCallId: text, status: "completed" }),
  update({ sessionUpdate: "plan", entries: [] }),
];

const answering: Way = ({ id }) => [say("news"), result(id, { stopReason: "end_turn" })];

const READS = 40;

const METHODS: Readonly<Record<string, Way>> = {
  initialize: ({ id }) => {
    const sessionCapabilities = OFFERS[how] ?? {};
    const loadSession = [
      "loads",
      "loads-late",
      "replays-after-a-pause",
      "replays-into-a-turn",
      "replays-for-ever",
      "asks-to-load",
      "hangs",
    ].includes(how);
    const agentCapabilities = { loadSession, sessionCapabilities };
    const authMethods = [{ id: "key" }];
    return [result(id, { protocolVersion: 1, agentCapabilities, authMethods })];
  },
  "session/new": ({ id }) => [result(id, { sessionId: "S", ...model("a") })],
  "session/prompt": ({ id }) => [result(id, { stopReason: "end_turn" })],
};

const ODDITIES: Readonly<Record<string, Readonly<Record<string, Way>>>> = {
  "speaks-mcp": {
    initialize: ({ id }) => [result(id, { protocolVersion: "2024-11-05", capabilities: {} })],
  },
  "prints-secret": {
    initialize: () => {
      process.stdout.write(`${"x".repeat(240)} ${SECRET}\n`, () => process.exit(1));
      return null;
    },
  },
  "refuses-with-secret": {
    "session/new": ({ id }) => [error(id, -32_603, `${"x".repeat(1_010)} ${SECRET}`)],
  },
  "refuses-with-data": {
    "session/new": ({ id }) => [error(id, -32_603, "Internal error", "no room")],
  },
  "refuses-with-secret-data": {
    "session/new": ({ id }) => [error(id, -32_603, "Internal error", SECRET)],
  },
  "refuses-with-much-data": {
    "session/new": ({ id }) => [error(id, -32_603, "Internal error", "x".repeat(5_000))],
  },
  "fails-sign-in": {
    "session/new": ({ id }) => [error(id, -32_000, "Authentication required")],
    authenticate: ({ id }) => [error(id, -32_603, "Internal error", "key expired on 1 May")],
  },
  "speaks-at-once": {
    "session/new": ({ id }) => [
      ...times(50, (n) => update({ sessionUpdate: "custom", n })),
      result(id, { sessionId: "S" }),
      ...times(50, (n) => update({ sessionUpdate: "custom", n: 50 + n })),
    ],
  },
  // It asks, and takes that back as soon as a file is there.
  "takes-back": {
    "session/prompt": ({ id }) => {
      const looking = setInterval(() => {
        if (!existsSync("take-back")) return;
        clearInterval(looking);
        const back = { method: "$/cancel_request", params: { requestId: "may" } };
        write([back, say("went on"), result(id, { stopReason: "end_turn" })]);
      }, 5);
      return [permission("may")];
    },
  },
  "same-name-for-all": {},
  "speaks-of-the-first": {
    "session/new": ({ id }) => {
      held.calls += 1;
      const late = held.calls === 1 ? [] : [say("one more word"), permission("may")];
      return [...late, result(id, { sessionId: held.calls === 1 ? "S" : `S${held.calls}` })];
    },
  },
  "has-legacy-models": {
    "session/new": ({ id }) => [
      result(id, { sessionId: "S", models: { currentModelId: "old-1", availableModels: [] } }),
    ],
    "session/set_model": ({ id }) => [result(id, {})],
    "session/prompt": ({ id }) => [
      result(id, { stopReason: "end_turn", usage: { inputTokens: 1, outputTokens: 1 } }),
    ],
  },
  forks: {
    "session/fork": ({ id, params }) => [
      result(id, { sessionId: JSON.stringify(params?.mcpServers) }),
    ],
  },
  loads: {
    "session/load": ({ id }) => [
      say("said before"),
      ...times(40, (n) => update({ sessionUpdate: "usage_update", used: n + 1, size: 1_000 })),
      result(id, {}),
      update({ sessionUpdate: "custom", news: true }),
    ],
  },
  // Part of the past comes in front of the answer, part of it with it, and part of it later.
  "loads-late": {
    "session/load": ({ id }) => {
      const later = [
        ...past("long before"),
        update({ sessionUpdate: "usage_update", used: 3, size: 9 }),
      ];
      setTimeout(() => write(later), 10);
      return [say("said before"), result(id, {}), ...past("said before")];
    },
    "session/prompt": answering,
  },
  "replays-after-a-pause": {
    "session/load": ({ id }) => {
      setTimeout(() => write(past("long before")), 200);
      return [result(id, {})];
    },
    "session/prompt": (message) => {
      setTimeout(() => write(answering(message) ?? []), 250);
      return null;
    },
  },
  // It says the user's words again: those of before, and then those of the prompt, in pieces.
  "replays-into-a-turn": {
    "session/load": ({ id }) => [result(id, {})],
    "session/prompt": ({ id, params }) => {
      const words = (text: string) =>
        update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } });
      const [asked] = Array.isArray(params?.prompt) ? params.prompt : [];
      const text = String(asked?.text);
      const said = [words("long before"), words(text.slice(0, 2)), words(text.slice(2))];
      return [...said, say("news"), result(id, { stopReason: "end_turn" })];
    },
  },
  "replays-for-ever": {
    "session/load": ({ id }) => {
      setInterval(() => write(past("said before")), 5);
      return [result(id, {})];
    },
    "session/prompt": answering,
  },
  // It wants files, and a person's word, before it says that it remembers.
  "asks-to-load": {
    "session/load": ({ id = 0 }) => {
      held.id = id;
      return [read("file", "notes.txt"), permission("may")];
    },
    "": ({ result: answer }) => {
      held.answers += 1;
      held.said.push(JSON.stringify(answer));
      return held.answers < 2 ? null : [result(held.id, {})];
    },
    "session/prompt": ({ id }) => [...held.said.map(say), result(id, { stopReason: "end_turn" })],
  },
  // All files at once, and its turn is over when it has them all.
  "reads-much": {
    "session/prompt": ({ id = 0 }) => {
      held.id = id;
      return times(READS, (n) => read(`read-${n}`, "notes.txt"));
    },
    "": () => {
      held.answers += 1;
      return held.answers < READS ? null : [result(held.id, { stopReason: "end_turn" })];
    },
  },
  // It asks for a file even if none was offered, and says what came of that.
  "reads-anyway": {
    "session/prompt": ({ id = 0 }) => {
      held.id = id;
      return [read("read", "notes.txt")];
    },
    "": ({ error: why }) => [say(JSON.stringify(why)), result(held.id, { stopReason: "end_turn" })],
  },
  // It has the server run a command, and tells in its own words what that wrote.
  "claims-terminal": {
    "session/prompt": ({ id = 0 }) => {
      held.id = id;
      const params = { sessionId: "S", command: "echo leaked; exit 7" };
      return [{ id: "run", method: "terminal/create", params }];
    },
    "": ({ result: answer }) => {
      const terminalId = answer?.terminalId;
      if (terminalId === undefined) return [result(held.id, { stopReason: "end_turn" })];
      const call = { sessionUpdate: "tool_call_update", toolCallId: "c" };
      const claim = { terminal_id: terminalId, data: "all is well" };
      const end = { terminal_id: terminalId, exit_code: 0, signal: null };
      return [
        update({ ...call, content: [{ type: "terminal", terminalId }] }),
        update({ ...call, _meta: { terminal_output: claim, terminal_exit: end } }),
        { id: "wait", method: "terminal/wait_for_exit", params: { sessionId: "S", terminalId } },
      ];
    },
  },
  hangs: { "session/new": () => null, "session/load": () => null },
  // It makes its first session at once, and the second at a prompt of the first.
  "makes-late": {
    "session/new": ({ id = 0 }) => {
      held.calls += 1;
      if (held.calls === 1) return [result(id, { sessionId: "S" })];
      held.id = id;
      return [say("asked again")];
    },
    "session/prompt": ({ id }) => [
      ...(held.id === 0 ? [] : [result(held.id, { sessionId: "late" })]),
      result(id, { stopReason: "end_turn" }),
    ],
    "session/close": ({ id, params }) => [say(`closed ${params?.sessionId}`), result(id, {})],
  },
  "changes-its-mind": {
    "session/set_config_option": ({ id }) => [
      result(id, model("b")),
      update({ sessionUpdate: "config_option_update", ...model("c") }),
    ],
  },
  "closes-its-input": {
    "session/new": ({ id }) => {
      write([result(id, { sessionId: "S" })]);
      setInterval(() => {}, 1_000); // It lives on, and is not to be reached any more.
      // Node itself never closes its standard input, even if the stream is destroyed.
      process.stdin.on("close", () => {
        closeSync(0);
        writeFileSync("closed", "");
      });
      process.stdin.destroy();
      return null;
    },
  },
  "leaves-a-child": {
    "session/prompt": () => {
      // Without the mark, and in its own session: the server cannot know whose it is.
      const env = { PATH: process.env.PATH };
      const stdio = ["ignore", "inherit", "ignore"] as const;
      const child = spawn("sleep", ["60"], { env, detached: true, stdio: [...stdio] });
      child.on("spawn", () => {
        writeFileSync("child.pid", String(child.pid));
        process.exit(5);
      });
      return null;
    },
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Message = JSON.parse(line);
  const way = ODDITIES[how]?.[message.method ?? ""] ?? METHODS[message.method ?? ""];
  const said = way?.(message) ?? [];
  write(said);
});

function write(said: readonly object[]) {
  process.stdout.write(said.map((one) => `${JSON.stringify(one)}\n`).join(""));
}
