import type { RequestListener, Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";
import {
  CONNECTION_LOOK_MS,
  HANDSHAKE_MS_MAX,
  HEAD_BYTES_MAX,
  HEAD_MS_MAX,
  IDLE_CONNECTION_MS,
  REQUEST_MS_MAX,
  SOCKET_PROBE_MS,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { bareName, nameInUrl } from "./origins.ts";

// An import would also load fetch and WebSocket, which the server does not use: 30 ms of every
// start.
const { createServer } = process.getBuiltinModule("node:http");
const { createServer: createTlsServer } = process.getBuiltinModule("node:https");

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
  readonly #sockets = new Set<Socket>();
  #running: { readonly server: Server; readonly closed: Promise<void> } | null = null;

  constructor(options: ListenerOptions, handle: RequestListener) {
    this.#options = options;
    this.#handle = handle;
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
    for (const socket of this.#sockets) socket.destroy();
    await this.#running?.closed;
  }

  #make(): Result<Server> {
    const { headMs = HEAD_MS_MAX, requestMs = REQUEST_MS_MAX } = this.#options;
    const { maxConnections, tls } = this.#options;
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
          : createTlsServer({ ...options, ...secret }, this.#handle);
      // Else Node ends a connection whose client has ended its side; `connection.ts` decides.
      Object.assign(server, { httpAllowHalfOpen: true });
      // Node takes 0 for "no connections".
      if (maxConnections > 0) server.maxConnections = maxConnections;
      return ok(server.on("connection", (socket) => this.#keep(socket)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : "it cannot be read";
      return fail("invalid_server_config", { path: "tls", reason });
    }
  }

  /** Keeps also sockets without a request yet, such as one in its TLS handshake. */
  #keep(socket: Socket) {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use; stop the other server, or choose another port",
  EACCES: "this user may not use the port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "there is no such address",
};

function listenFailed(
  { hostname, port }: ListenerOptions,
  error: NodeJS.ErrnoException | null,
): Result<never> {
  const reason = REASONS[error?.code ?? ""] ?? error?.message ?? "the address has no port";
  return fail("listen_failed", { address: `${nameInUrl(hostname)}:${port}`, reason });
}
