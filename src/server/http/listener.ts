import type { RequestListener, Server, ServerOptions } from "node:http";
import {
  CONNECTION_LOOK_MS,
  CONNECTIONS_EXTRA_MIN,
  HANDSHAKE_MS_MAX,
  HEAD_BYTES_MAX,
  HEAD_MS_MAX,
  IDLE_CONNECTION_MS,
  REQUEST_MS_MAX,
  SOCKET_PROBE_MS,
  SOCKETS_EVICTED_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Clock, SYSTEM_CLOCK } from "../../platform/clock.ts";
import { dropBody } from "./body.ts";
import { OpenSockets } from "./open-sockets.ts";
import { bareName, nameInUrl } from "./origins.ts";

// An import would also load fetch and WebSocket, which the server does not use: 30 ms of every
// start.
const { createServer } = process.getBuiltinModule("node:http");

export interface ListenerOptions {
  readonly hostname: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** 0 is no limit. */
  readonly maxConnections: number;
  /** Certificate and key, both as PEM. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Timeouts for the head of a request, and for the whole request. */
  readonly headMs?: number;
  readonly requestMs?: number;
}

export interface ListenAddress {
  readonly port: number;
  readonly url: string;
}

/** Accepts connections, limits them, and closes them in order. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #handle: RequestListener;
  readonly #sockets: OpenSockets;
  #running: { readonly server: Server; readonly closed: Promise<void> } | null = null;

  constructor(options: ListenerOptions, handle: RequestListener, clock: Clock = SYSTEM_CLOCK) {
    this.#options = options;
    const max = connectionLimit(options);
    this.#sockets = new OpenSockets(max, extraConnections(max), clock);
    this.#handle = (incoming, response) => {
      if (this.#sockets.begin(incoming.socket, response)) handle(incoming, response);
      else dropBody(incoming, clock);
    };
  }

  /** Whether more connections have a request than the limit says. */
  get isCrowded(): boolean {
    return this.#sockets.isCrowded;
  }

  get connectionCount(): number {
    return this.#sockets.count;
  }

  /** Resolves when connections are accepted, or with the reason why they cannot be. */
  async listen(): Promise<Result<ListenAddress>> {
    const { hostname, port, tls } = this.#options;
    const made = this.#make();
    if (!made.ok) return made;
    const server = made.value;
    const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException | null>();
    server.once("error", resolve).once("listening", () => resolve(null));
    server.listen(port, bareName(hostname));
    const error = await promise;
    const address = server.address();
    if (error !== null || address === null || typeof address === "string") {
      return listenFailed(this.#options, error);
    }
    // A connection that is refused for want of descriptors harms only its client.
    server.on("error", () => {});
    const closed = new Promise<void>((isClosed) => server.once("close", () => isClosed()));
    this.#running = { server, closed };
    const scheme = tls === null ? "http" : "https";
    const url = `${scheme}://${nameInUrl(hostname)}:${address.port}`;
    return ok({ port: address.port, url });
  }

  /** Accepts no new connections. Idle ones are closed; the others finish. */
  stopAccepting() {
    const server = this.#running?.server;
    if (server?.listening) server.close();
  }

  /** Closes all remaining connections. */
  async close(): Promise<void> {
    this.stopAccepting();
    this.#sockets.destroy();
    await this.#running?.closed;
  }

  #make(): Result<Server> {
    const { headMs = HEAD_MS_MAX, requestMs = REQUEST_MS_MAX } = this.#options;
    const { tls } = this.#options;
    const options: ServerOptions = {
      headersTimeout: Math.min(headMs, requestMs),
      requestTimeout: requestMs,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      connectionsCheckingInterval: Math.min(CONNECTION_LOOK_MS, headMs),
      maxHeaderSize: HEAD_BYTES_MAX,
      keepAlive: true,
      keepAliveInitialDelay: SOCKET_PROBE_MS,
      noDelay: true,
    };
    try {
      const secret = { ...tls, handshakeTimeout: HANDSHAKE_MS_MAX };
      const server =
        tls === null
          ? createServer(options, this.#handle)
          : process
              .getBuiltinModule("node:https")
              .createServer({ ...options, ...secret }, this.#handle);
      // Else Node ends a connection whose client has ended its side; `connection.ts` decides.
      Object.assign(server, { httpAllowHalfOpen: true });
      // Only beyond this a connection is reset: then hundreds wait for their answers.
      const max = connectionLimit(this.#options);
      server.maxConnections = max + extraConnections(max) + SOCKETS_EVICTED_MAX;
      server.on("secureConnection", (socket) => this.#sockets.secured(socket));
      return ok(server.on("connection", (socket) => this.#sockets.accept(socket, tls === null)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : "it cannot be read";
      return fail("invalid_server_config", { path: "tls", reason });
    }
  }
}

/** No limit is infinity. */
export function connectionLimit({
  maxConnections,
}: Pick<ListenerOptions, "maxConnections">): number {
  return maxConnections === 0 ? Number.POSITIVE_INFINITY : maxConnections;
}

/** How many connections are accepted beyond the limit, each of which has a request. */
export function extraConnections(max: number): number {
  return max === Number.POSITIVE_INFINITY ? 0 : Math.max(CONNECTIONS_EXTRA_MIN, Math.ceil(max / 4));
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    "the port is in use; stop the other server, or choose another port (0 takes a free one)",
  EACCES: "this user may not use the port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have the address; use one that it has, or 127.0.0.1",
  ENOTFOUND: "there is no such name; use an address of this machine, or 127.0.0.1",
};

function listenFailed(
  { hostname, port }: ListenerOptions,
  error: NodeJS.ErrnoException | null,
): Result<never> {
  const cause = error?.code ?? "none";
  const reason = REASONS[cause] ?? error?.message ?? "the address has no port";
  return fail("listen_failed", { address: `${nameInUrl(hostname)}:${port}`, reason, cause });
}
