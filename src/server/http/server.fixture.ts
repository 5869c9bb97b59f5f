import assert from "node:assert/strict";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import type { Result } from "../../core/result.ts";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import type { RouteDescription } from "../openapi/description.ts";
import { healthRoute } from "../route/server-info.ts";
import { readServerSettings, type ServerOptions } from "../settings.ts";
import { type Answer, json } from "./answer.ts";
import { type Route, RouteTable, route } from "./route.ts";
import { HttpServer, type ServerDeps } from "./server.ts";

export const IDLE = {
  workspaceCount: 1,
  sessions: 0,
  pendingPermissions: 0,
  activePrompts: 0,
  activeWork: false,
  activeWorkReporting: "full",
  activeWorkStaleMs: null,
  connectedClients: 0,
  channelAlive: false,
  lastActivityAt: null,
  idleSinceMs: null,
  recovery: { total: 0, recovered: 0, setAside: 0 },
} as const;

/** Of routes that only tests have: no reference shows them. */
export const UNDESCRIBED = (): RouteDescription => {
  return { task: "server", summary: "A test's own", answers: { 200: null }, example: {} };
};

/** Answers with what it was asked. */
export function mirror(row: Partial<Route> & { path: string; gate?: "caller" | "strict" }): Route {
  return route({
    method: "POST",
    about: UNDESCRIBED,
    gate: "caller",
    needs: null,
    clientId: "shape",
    body: "json",
    ...row,
    async handle({ params, query, body, bytes, clientId, caller, isLoopbackPeer }) {
      const text = Buffer.from(bytes).toString();
      const search = query.toString();
      return json(200, { params, search, body, text, clientId, caller, isLoopbackPeer });
    },
  });
}

/** A row whose handler is all that matters. */
export function answering(path: string, handle: () => Promise<Answer>): Route {
  const row = { method: "GET", path, gate: "caller", clientId: "ignored", body: "json" } as const;
  return route({ ...row, about: UNDESCRIBED, needs: null, handle });
}

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A server on a free port of this machine, and ways to speak to it. */
export class ServerWorld {
  readonly server: HttpServer;
  readonly url: string;
  readonly port: number;
  /** What the operator would read. */
  readonly logged: string[];

  constructor(server: HttpServer, url: string, port: number, logged: string[]) {
    this.server = server;
    this.url = url;
    this.port = port;
    this.logged = logged;
  }

  /** Every header is as given: a browser's, a liar's, or none. */
  ask(path: string, { method = "GET", headers = {}, body }: Question = {}): Promise<Reply> {
    const options = { port: this.port, host: "127.0.0.1", path, method, headers, agent: false };
    return new Promise((resolve, reject) => {
      const asked = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      asked.on("error", reject).end(body);
    });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    const kind = { "content-type": "application/json" };
    const text = JSON.stringify(body);
    return this.ask(path, { method: "POST", headers: { ...kind, ...headers }, body: text });
  }

  /** All that the server says to these bytes, until it closes the connection. */
  async speak(...pieces: readonly (string | Uint8Array)[]): Promise<string> {
    const socket = this.socket();
    for (const piece of pieces) socket.write(piece);
    let said = "";
    for await (const chunk of socket) said += chunk;
    return said;
  }

  /** A bare socket, for what no HTTP client would send. */
  socket(): Socket {
    return connect(this.port, "127.0.0.1");
  }
}

const open: HttpServer[] = [];

/** For `afterEach`: closes all that a test has opened. */
export async function closeServers(): Promise<void> {
  for (const server of open.splice(0)) await server.close();
}

/** A server with these routes, and `/health`; `closeServers` closes it. */
export async function serve(
  routes: readonly Route[],
  options: Partial<ServerOptions> = {},
  parts: Partial<ServerDeps> = {},
): Promise<ServerWorld> {
  const logged: string[] = [];
  const settings = granted(
    readServerSettings({ port: 0, workspaces: ["/a/workspace"], ...options }),
  );
  const table = new RouteTable([healthRoute(async () => IDLE), ...routes]);
  const log = (what: string, about: object) => {
    logged.push(`${what} ${JSON.stringify(about)}`);
  };
  const server = new HttpServer({
    settings,
    table,
    clock: REAL_CLOCK,
    log,
    closeMs: 200,
    ...parts,
  });
  open.push(server);
  const { url, port } = granted(await server.listen());
  return new ServerWorld(server, url, port, logged);
}

export function granted<Value>(result: Result<Value>): Value {
  return result.ok ? result.value : assert.fail(JSON.stringify(result.refusal));
}

/** The body of an answer, as it was meant. */
export function bodyOf({ text }: Reply): Readonly<Record<string, unknown>> {
  return JSON.parse(text);
}
