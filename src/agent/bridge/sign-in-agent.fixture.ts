// An agent that wants a sign-in, in the way that its first argument names. It writes what it is
// called with into `calls`, and its variables into `environment`.

import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type JsonObject, objectAt } from "../../core/json.ts";

const [how = "", action = ""] = process.argv.slice(2);

/** A terminal method of its own command: it is run again, with this argument. */
if (action !== "") {
  const { ECHO_HOME = "", ECHO_KEY = "", OTHER_KEY = "", FROM_METHOD = "" } = process.env;
  write({ action, ECHO_HOME, ECHO_KEY, OTHER_KEY, FROM_METHOD });
  process.exit(action === "fails" ? 3 : 0);
}

writeFileSync("environment", JSON.stringify(process.env));

const KEYS = [
  { id: "first", name: "First key" },
  { id: "second", name: "Second key" },
];

const METHODS: Readonly<Record<string, readonly JsonObject[]>> = {
  ways: KEYS,
  never: KEYS,
  "in-a-turn": KEYS,
  hangs: KEYS,
  "by-variable": [
    { id: "none", name: "Not set", type: "env_var", vars: [{ name: "NOT_SET_KEY" }] },
    {
      ...{ id: "env", name: "A key", type: "env_var", vars: [{ name: "ECHO_KEY" }] },
      link: "javascript:alert(1)",
    },
  ],
  terminal: [
    {
      ...{ id: "login", name: "Log in", type: "terminal", description: "With\u001b[2J an account" },
      ...{ args: ["login"], env: { FROM_METHOD: "yes" } },
    },
    {
      ...{ id: "older", name: "Older", link: "https://keys.example/new" },
      _meta: { "terminal-auth": { command: "/opt/my agent", args: ["it's", "login"] } },
    },
  ],
  "terminal-fails": [{ id: "login", name: "Log in", type: "terminal", args: ["fails"] }],
  silent: [],
};

/** It looks for its log-in when it starts, and never again. */
const hasLogIn = existsSync("logged-in");
let isSignedIn = how === "in-a-turn";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  appendFileSync("calls", `${method} ${params.methodId ?? ""}\n`);
  const isFirst = method === "initialize";
  const answer = isFirst ? initialized(params) : answerTo(method, params.methodId);
  if (answer !== null) write({ jsonrpc: "2.0", id, ...answer });
});

const wanted = { error: { code: -32_000, message: "Please run `agent login` from your terminal" } };

/** It offers the older form of a terminal method only to a client that knows it. */
function initialized({ clientCapabilities }: JsonObject): JsonObject {
  const announced = objectAt(objectAt({ clientCapabilities }, "clientCapabilities") ?? {}, "_meta");
  const isKnown = announced?.["terminal-auth"] === true;
  const authMethods = METHODS[how]?.filter(({ _meta }) => isKnown || _meta === undefined);
  return { result: { protocolVersion: 1, agentCapabilities: {}, authMethods } };
}

function answerTo(method: string, methodId: unknown): JsonObject | null {
  if (method === "authenticate") return authenticated(methodId);
  if (method === "session/new") return isSignedIn ? { result: { sessionId: "S" } } : wanted;
  if (method !== "session/prompt") return { result: {} };
  return hasLogIn ? { result: { stopReason: "end_turn" } } : wanted;
}

function authenticated(methodId: unknown): JsonObject | null {
  if (how === "hangs") return null;
  if (how === "never") return { result: {} };
  if (methodId === "first") return { error: { code: -32_603, message: "The first key expired" } };
  isSignedIn = true;
  return { result: {} };
}

function write(message: object) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
