// An agent that keeps its sessions in its folder, or in its home if it has one, and may want a
// person to sign in first. Its arguments are its features; all calls that it gets are in
// `calls.jsonl`.

import { appendFileSync, existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../core/json.ts";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

const features = new Set(process.argv.slice(2));
const KEPT = join(process.env.KEEPING_HOME ?? "", "kept-sessions.json");
const SIGNED_IN = "signed-in";

type Kept = readonly { readonly sessionId: string; readonly cwd: string; readonly title: string }[];

const kept = (): Kept => (existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, "utf8")) : []);
const keep = (sessions: Kept) => writeFileSync(KEPT, JSON.stringify(sessions));

const write = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
const answer = (id: unknown, result: object) => write({ id, result });

const needsSignIn = () => features.has("sign-in") && !existsSync(SIGNED_IN);

/** The `authenticate` that waits for a person. */
let signingIn: unknown = null;

const { PAGE_KEY = "" } = process.env;

/** Where a person signs in; no page of the web if that is a feature. */
const PAGE = {
  mode: features.has("form") ? "form" : "url",
  elicitationId: "e1",
  message: features.has("secret") ? `Enter\u001b[31m ABCD ${PAGE_KEY}` : "Enter the code ABCD.",
  url: pageUrl(),
};

function pageUrl(): string {
  if (features.has("bad-url")) return "javascript:alert(1)";
  const query = features.has("secret-url") ? `?key=${encodeURIComponent(PAGE_KEY)}` : "";
  return `https://login.example/device${query}`;
}

/** Its first code is soon out of date, if that is a feature. */
let pagesLeft = features.has("again") ? 1 : 0;

const METHODS: Readonly<Record<string, (message: Message) => void>> = {
  initialize: ({ id }) => {
    const offered = ["list", "delete", "resume", "additionalDirectories"];
    const sessionCapabilities = Object.fromEntries(
      offered.filter((name) => features.has(name)).map((name) => [name, {}]),
    );
    const auth = features.has("logout") ? { logout: {} } : {};
    const agentCapabilities = { sessionCapabilities, auth, loadSession: features.has("load") };
    answer(id, { protocolVersion: 1, agentCapabilities, authMethods: [{ id: "page" }] });
  },
  authenticate: ({ id }) => {
    signingIn = id;
    write({ id: "page", method: "elicitation/create", params: { requestId: id, ...PAGE } });
  },
  "session/new": ({ id, params }) => {
    if (needsSignIn()) {
      write({ id, error: { code: -32_000, message: "Sign in first" } });
      return;
    }
    const sessionId = `kept-${kept().length + 1}-${process.pid}`;
    keep([...kept(), { sessionId, cwd: String(params?.cwd), title: "a talk" }]);
    answer(id, { sessionId });
  },
  "session/resume": ({ id }) => {
    const unknown = { code: -32_000, message: "Session not found" };
    if (features.has("forgets")) write({ id, error: unknown });
    else if (features.has("bad-resume"))
      write({ id, error: { code: -32_603, message: "it is lost" } });
    else answer(id, {});
  },
  "session/load": ({ id, params }) => {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "old" } };
    write({ method: "session/update", params: { sessionId: params?.sessionId, update } });
    answer(id, {});
  },
  "session/list": ({ id, params }) => {
    // One on each page.
    const at = Number(params?.cursor ?? 0);
    const next = at + 1 < kept().length ? { nextCursor: String(at + 1) } : {};
    answer(id, { sessions: kept().slice(at, at + 1), ...next });
  },
  "session/delete": ({ id, params }) => {
    if (features.has("no-end-of-delete")) return;
    keep(kept().filter(({ sessionId }) => sessionId !== params?.sessionId));
    answer(id, {});
  },
  "session/prompt": ({ id, params }) => {
    // Many files, which take a while to look at.
    const locations = Array.from({ length: 40 }, (_, n) => ({ path: `${process.cwd()}/a/b/${n}` }));
    const toolCall = { toolCallId: "t1", kind: "edit", title: "Edit", locations };
    const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
    const ask = { sessionId: params?.sessionId, toolCall, options };
    if (features.has("hasty")) {
      write({ id: "ask", method: "session/request_permission", params: ask });
    }
    answer(id, { stopReason: "end_turn" });
  },
  logout: ({ id }) => answer(id, {}),
};

/** What became of its own request. */
function answered({ result, error }: Message) {
  if (error !== undefined || result?.action !== "accept") {
    write({ id: signingIn, error: { code: -32_603, message: "nobody opened the page" } });
    return;
  }
  if (pagesLeft > 0) {
    pagesLeft -= 1;
    const next = { ...PAGE, elicitationId: "e2", url: `${PAGE.url}/again` };
    write({ id: "next", method: "elicitation/create", params: { requestId: signingIn, ...next } });
  }
  const signedIn = () => {
    if (!existsSync(SIGNED_IN) || signingIn === null) return;
    watcher.close();
    write({ method: "elicitation/complete", params: { elicitationId: PAGE.elicitationId } });
    answer(signingIn, {});
    signingIn = null;
  };
  const watcher = watch(".", signedIn);
  signedIn();
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Message = JSON.parse(line);
  const { method } = message;
  if (method === undefined) answered(message);
  else appendFileSync("calls.jsonl", `${JSON.stringify({ method, params: message.params })}\n`);
  METHODS[method ?? ""]?.(message);
});
