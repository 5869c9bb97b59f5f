import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { VERDICT_HELD_MS_MAX } from "../../core/limits.ts";
import type { Clock } from "../../platform/clock.ts";

/** Whether the client has ended the connection after its last answer, in time. */
type ConnectionEnd = "acknowledged" | "lost";

/**
 * One connection of a client: which requests are open on it, and how it ends. HTTP/1.1 has no
 * acknowledgement of an answer, but a client that reads `Connection: close` ends the connection
 * once it has read the whole answer.
 */
class ClientConnection {
  readonly #socket: Socket;
  #openCount = 0;
  #hasLastAnswer = false;
  #answersHalfClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("end", () => {
      if (!this.#answersHalfClosed) socket.end();
    });
  }

  /** Counts a request as open. False after the last answer: it must not be handled any more. */
  begin(response: ServerResponse): boolean {
    if (this.#hasLastAnswer) return false;
    this.#openCount += 1;
    response.once("close", () => {
      this.#openCount -= 1;
      this.#answersHalfClosed = false;
    });
    return true;
  }

  /** The open request is answered even if its client has ended its side. */
  answerHalfClosed() {
    this.#answersHalfClosed = true;
  }

  /**
   * Whether the end of this connection would tell that the client has read the answer. Behind a
   * proxy or in a browser another program ends it. A client that has ended its side already, or
   * that sent further requests without waiting, says nothing by it either.
   */
  canAcknowledge(request: IncomingMessage): boolean {
    return this.#openCount === 1 && !this.#socket.readableEnded && isDirect(request);
  }

  /** The next answer is the last one, and the client is to end the connection first. */
  answerLast(): LastAnswer {
    this.#hasLastAnswer = true;
    return new LastAnswer(this.#socket);
  }
}

/** Waits for a client to end its connection after the last answer on it. */
export class LastAnswer {
  readonly #socket: Socket;
  readonly #close: () => void;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#close = socket.destroySoon.bind(socket);
    // Node closes the connection when the answer is sent, which would be before its client does.
    socket.destroySoon = () => {};
  }

  /** The answer is sent. Calls back once, and closes the connection then (P10). */
  whenEnded(clock: Clock, tell: (ended: ConnectionEnd) => void) {
    const socket = this.#socket;
    const over = (ended: ConnectionEnd) => {
      callOff();
      socket.off("end", read).off("close", read);
      this.#close();
      tell(ended);
    };
    const read = () => over("acknowledged");
    const callOff = clock.after(VERDICT_HELD_MS_MAX, () => over("lost"));
    socket.once("end", read).once("close", read);
  }

  /** Whether the client ended its side before the answer was sent, which acknowledges nothing. */
  get isHalfClosed(): boolean {
    return this.#socket.readableEnded || this.#socket.destroyed;
  }

  close() {
    this.#close();
  }
}

const known = new WeakMap<Socket, ClientConnection>();

/** The connection of a request, the same for all requests of its socket. */
export function connectionOf({ socket }: IncomingMessage): ClientConnection {
  const connection = known.get(socket) ?? new ClientConnection(socket);
  known.set(socket, connection);
  return connection;
}

/** Sent by browsers. Not `Sec-Fetch-Mode`, which Node's fetch sends too. */
const BROWSER_HEADERS = ["origin", "sec-fetch-site", "sec-fetch-dest"];

const PROXY_HEADERS = ["via", "forwarded", "x-real-ip"];

const INDIRECT: ReadonlySet<string> = new Set([...BROWSER_HEADERS, ...PROXY_HEADERS]);

/** Whether the program that waits for the answer has made this connection, as far as it shows. */
function isDirect({ headers, httpVersion }: IncomingMessage): boolean {
  // Proxies speak HTTP/1.0 to their servers, or close each connection, unless told otherwise.
  if (httpVersion !== "1.1" || /\bclose\b/i.test(headers.connection ?? "")) return false;
  return !Object.keys(headers).some((name) => {
    return INDIRECT.has(name) || name.startsWith("x-forwarded-");
  });
}
