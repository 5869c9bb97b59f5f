import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { refusal } from "../../core/error.ts";
import { SOCKET_LINGER_MS, SOCKETS_EVICTED_MAX } from "../../core/limits.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { refused } from "./answer.ts";
import { networkOf } from "./origins.ts";

/** One accepted connection. */
interface OpenSocket {
  /** Of TCP; with TLS the requests come by another one. */
  readonly socket: Socket;
  readonly network: string;
  /** What answers are written to; null during a TLS handshake. */
  http: Socket | null;
  requestCount: number;
  /** Whether it has had a request. */
  hasAsked: boolean;
}

/** Sockets without a request by address, the longest idle first. */
class IdleSockets {
  readonly #byNetwork = new Map<string, Set<OpenSocket>>();
  count = 0;

  add(one: OpenSocket) {
    const idle = this.#byNetwork.get(one.network) ?? new Set();
    this.#byNetwork.set(one.network, idle.add(one));
    this.count += 1;
  }

  delete(one: OpenSocket) {
    const idle = this.#byNetwork.get(one.network);
    if (idle?.delete(one)) this.count -= 1;
    if (idle?.size === 0) this.#byNetwork.delete(one.network);
  }

  /** The longest idle socket of the address that has the most sockets in all. */
  next(countOf: (network: string) => number): OpenSocket | undefined {
    const [first = "", ...others] = this.#byNetwork.keys();
    const most = others.reduce((a, b) => (countOf(b) > countOf(a) ? b : a), first);
    const [next] = this.#byNetwork.get(most) ?? [];
    return next;
  }
}

/**
 * The connections of a server. Up to the limit all stay. Beyond it the longest idle one is closed
 * for each new one, of the address that has the most. Some more than the limit are accepted, so
 * that requests are answered and not reset when all have one. So many may be without a first
 * request; of more the first one goes before all others: heads that do not end keep no one out, and
 * no client loses a connection to them (P10).
 */
export class OpenSockets {
  readonly #max: number;
  readonly #extra: number;
  readonly #clock: Clock;
  readonly #open = new Set<OpenSocket>();
  readonly #byHttp = new WeakMap<Socket, OpenSocket>();
  /** Those that have had an answer, and those that have not asked yet. */
  readonly #answered = new IdleSockets();
  readonly #silent = new IdleSockets();
  readonly #counts = new Map<string, number>();
  /** Closed by the server, while their clients may still read. */
  readonly #evicted = new Map<OpenSocket, CallOff>();

  /** `max` may be infinite; `extra` is how many more are accepted. */
  constructor(max: number, extra: number, clock: Clock) {
    this.#max = max;
    this.#extra = extra;
    this.#clock = clock;
  }

  /** Whether more connections have a request than the limit says. */
  get isCrowded(): boolean {
    return this.#open.size - this.#answered.count - this.#silent.count > this.#max;
  }

  get count(): number {
    return this.#open.size;
  }

  accept(socket: Socket, isHttp: boolean) {
    const network = networkOf(socket.remoteAddress);
    const one: OpenSocket = { socket, network, http: null, requestCount: 0, hasAsked: false };
    if (isHttp) this.#speaks(one, socket);
    this.#open.add(one);
    this.#counts.set(network, (this.#counts.get(network) ?? 0) + 1);
    this.#makeRoom();
    this.#silent.add(one);
    socket.once("close", () => {
      this.#forget(one);
      this.#evicted.get(one)?.();
      this.#evicted.delete(one);
    });
  }

  /** The handshake of TLS is over: requests come by this socket. */
  secured(http: Socket) {
    for (const one of this.#open) {
      if (one.http === null && isSamePeer(one.socket, http)) this.#speaks(one, http);
    }
  }

  /** False for a request on a connection that the server has closed already. */
  begin(http: Socket, response: ServerResponse): boolean {
    const one = this.#byHttp.get(http);
    if (one === undefined || !this.#open.has(one)) return false;
    this.#wake(one);
    one.requestCount += 1;
    one.hasAsked = true;
    response.once("close", () => {
      one.requestCount -= 1;
      if (one.requestCount > 0 || !this.#open.has(one)) return;
      this.#answered.add(one);
      this.#makeRoom();
    });
    return true;
  }

  /** Closes all at once. */
  destroy() {
    for (const { socket } of [...this.#open, ...this.#evicted.keys()]) socket.destroy();
  }

  #speaks(one: OpenSocket, http: Socket) {
    one.http = http;
    this.#byHttp.set(http, one);
  }

  #wake(one: OpenSocket) {
    this.#answered.delete(one);
    this.#silent.delete(one);
  }

  #forget(one: OpenSocket) {
    if (!this.#open.delete(one)) return;
    this.#wake(one);
    const left = (this.#counts.get(one.network) ?? 1) - 1;
    if (left > 0) this.#counts.set(one.network, left);
    else this.#counts.delete(one.network);
  }

  #makeRoom() {
    const excess = this.#open.size - this.#max;
    if (excess <= 0) return;
    const countOf = (network: string) => this.#counts.get(network) ?? 0;
    const silent = this.#silent.next(countOf);
    const isFlooded = this.#silent.count > this.#extra;
    const last = excess > this.#extra ? silent : undefined;
    const one = (isFlooded ? silent : this.#answered.next(countOf)) ?? last;
    if (one !== undefined) this.#evict(one);
  }

  /** A client that has not asked yet is told to come again. Its request may be on its way. */
  #evict(one: OpenSocket) {
    this.#forget(one);
    const { socket, http, hasAsked } = one;
    if (http === null) {
      socket.destroy();
      return;
    }
    if (hasAsked) http.end();
    else http.end(BUSY);
    // Until then what comes is read, since the system resets a connection with unread bytes.
    this.#evicted.set(
      one,
      this.#clock.after(SOCKET_LINGER_MS, () => socket.destroy()),
    );
    if (this.#evicted.size > SOCKETS_EVICTED_MAX) this.#destroyOldest();
  }

  #destroyOldest() {
    for (const [oldest, callOff] of this.#evicted) {
      callOff();
      this.#evicted.delete(oldest);
      oldest.socket.destroy();
      return;
    }
  }
}

function isSamePeer(one: Socket, other: Socket): boolean {
  return one.remotePort === other.remotePort && one.remoteAddress === other.remoteAddress;
}

const BUSY = busyAnswer();

/** The answer on a connection that the server closes before a request has come. */
function busyAnswer(): string {
  const answer = refused(refusal("server_busy"));
  const text = answer.kind === "json" ? answer.text : "";
  const headers = {
    ...answer.headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": `${Buffer.byteLength(text)}`,
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return ["HTTP/1.1 503 Service Unavailable", ...lines, "", text].join("\r\n");
}
