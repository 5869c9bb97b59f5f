import type { IncomingMessage } from "node:http";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { type Refusal, refusal } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  BODIES_HELD_BYTES_MAX,
  BODIES_RESERVED_BYTES,
  BODY_CHUNK_BYTES_MIN,
  BODY_CHUNKS_MAX,
  BODY_DROPPED_BYTES_MAX,
  BODY_DROPPED_MS_MAX,
  BODY_NESTING_MAX,
  BODY_PACE_BYTES_MIN,
  BODY_PACE_MS,
  BODY_SMALL_BYTES_MAX,
  BODY_TURN_CHUNKS_MAX,
  BODY_VALUES_MAX,
  BODY_YIELD_BYTES,
  JSON_BODY_BYTES_MAX,
  RAW_BODY_BYTES_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { readJsonBody } from "../../wire/json.ts";
import type { SyntaxFault } from "../../wire/json-fault.ts";
import { FairShares, type ShareHolder } from "./fair-shares.ts";

export interface Body {
  readonly object: JsonObject;
  readonly bytes: Uint8Array;
}

/** What a route wants to have of a body. */
export type BodyKind = "none" | "json" | "bytes";

const NO_BYTES = new Uint8Array();
const NO_BODY: Body = { object: {}, bytes: NO_BYTES };

/** Null if the client disconnected before the body was whole. */
type Received = Result<Buffer> | null;

/** What one request takes of the memory for bodies. */
interface Charge {
  readonly holder: ShareHolder;
  bytes: number;
}

/** Reads request bodies, within a limit for each, and with fair shares of the memory for all. */
export class BodyReader {
  readonly #clock: Clock;
  readonly #shares = new FairShares({
    resource: "memory for bodies",
    total: BODIES_HELD_BYTES_MAX,
    reserved: BODIES_RESERVED_BYTES,
    share: 1 / 4,
    kept: 1 / 2,
    little: JSON_BODY_BYTES_MAX,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the bodies that are received or handled cost. */
  get heldBytes(): number {
    return this.#shares.held;
  }

  /**
   * Passes the body to `use`, and releases its memory when that is done. Null if the client
   * disconnected: then no answer is needed.
   */
  async with<Outcome>(
    incoming: IncomingMessage,
    kind: BodyKind,
    holder: ShareHolder,
    use: (body: Result<Body>) => Outcome | Promise<Outcome>,
  ): Promise<Outcome | null> {
    const known = kind === "none" ? ok(NO_BODY) : byHead(incoming, kind);
    if (known !== null) {
      dropBody(incoming, this.#clock);
      return use(known);
    }
    const bytesMax = kind === "json" ? JSON_BODY_BYTES_MAX : RAW_BODY_BYTES_MAX;
    const charge = { holder, bytes: 0 };
    try {
      const received = await this.#receive(incoming, bytesMax, charge);
      if (received === null) return null;
      if (!received.ok) {
        dropBody(incoming, this.#clock);
        return await use(received);
      }
      return await use(kind === "json" ? await jsonOf(received.value) : bytesOf(received.value));
    } finally {
      this.#shares.release(holder, charge.bytes);
    }
  }

  #receive(incoming: IncomingMessage, bytesMax: number, charge: Charge): Promise<Received> {
    const announced = Number(incoming.headers["content-length"] ?? 0);
    const tooLarge = fail("body_too_large", { limitMb: bytesMax / 1_048_576 });
    if (incoming.destroyed) return Promise.resolve(null);
    if (announced > bytesMax) return Promise.resolve(tooLarge);
    const { promise, resolve } = Promise.withResolvers<Received>();
    const body = new GrowingBody(announced);
    const turns = new ChunkTurns(incoming);
    const take = (chunk: Buffer) => {
      turns.count(chunk);
      body.chunkCount += 1;
      if (body.length + chunk.length > bytesMax) return resolve(tooLarge);
      if (body.chunkCount > BODY_CHUNKS_MAX)
        return resolve({ ok: false, refusal: TOO_MANY_CHUNKS });
      const excess = this.#charge(charge, chunk.length, body.length);
      if (excess !== null) return resolve({ ok: false, refusal: excess });
      body.add(chunk);
    };
    const end = () => resolve(ok(body.whole));
    const gone = () => resolve(null);
    const endPace = this.#holdToPace(body, () => resolve(fail("body_too_slow", PACE)));
    incoming.on("data", take).once("end", end).once("close", gone).once("error", gone);
    return promise.finally(() => {
      endPace();
      incoming.off("data", take).off("end", end).off("close", gone);
      incoming.pause();
    });
  }

  /** Charges a chunk of a body; one of a small body in any case. */
  #charge(charge: Charge, chunkBytes: number, bodyBytes: number): Refusal | null {
    const isSmall = bodyBytes + chunkBytes <= BODY_SMALL_BYTES_MAX;
    // A small body is taken in any case, so its chunks must not use up what others have.
    const cost = isSmall ? chunkBytes : Math.max(chunkBytes, BODY_CHUNK_BYTES_MIN);
    const excess = isSmall ? null : this.#shares.take(charge.holder, cost);
    if (isSmall) this.#shares.force(charge.holder, cost);
    if (excess === null) charge.bytes += cost;
    return excess;
  }

  /** A body that brings little for a while holds memory, and its client may never end it. */
  #holdToPace(body: GrowingBody, isTooSlow: () => void) {
    let seen = 0;
    const check = () => {
      if (body.length - seen < BODY_PACE_BYTES_MIN) return isTooSlow();
      seen = body.length;
      callOff = this.#clock.after(BODY_PACE_MS, check);
    };
    let callOff = this.#clock.after(BODY_PACE_MS, check);
    return () => callOff();
  }
}

const PACE = { bytes: BODY_PACE_BYTES_MIN, ms: BODY_PACE_MS };

const TOO_MANY_CHUNKS = refusal("invalid_request", {
  reason: `The body comes in more than ${BODY_CHUNKS_MAX} chunks; send larger ones`,
});

/**
 * Reads and discards what is left of a body, so that the client gets to read the answer: the system
 * resets a connection that is closed with unread bytes. Where the answer is the last one of the
 * connection, only the server's side ends with it, and the rest when the body is over.
 */
export function dropBody(incoming: IncomingMessage, clock: Clock) {
  const isOver = incoming.readableEnded || incoming.destroyed;
  if (!hasBody(incoming) || isOver || incoming.readableFlowing) return;
  const { socket } = incoming;
  const { destroySoon } = socket;
  let isLastAnswered = false;
  socket.destroySoon = () => {
    isLastAnswered = true;
    socket.end();
  };
  // After its answer, Node tells a request no more that its connection is gone.
  const over = () => {
    incoming.off("end", over);
    socket.off("close", over);
    callOff();
    socket.destroySoon = destroySoon;
    if (isLastAnswered) socket.destroySoon();
  };
  const cut = () => incoming.destroy();
  const callOff = clock.after(BODY_DROPPED_MS_MAX, cut);
  const turns = new ChunkTurns(incoming);
  let bytes = 0;
  incoming.on("data", (chunk: Buffer) => {
    turns.count(chunk);
    bytes += chunk.length;
    if (bytes > BODY_DROPPED_BYTES_MAX) cut();
  });
  incoming.on("end", over);
  socket.on("close", over);
  incoming.resume();
}

/**
 * Gives others a turn of the event loop after so many small chunks (P10). Node reads a socket up to
 * 32 times in one turn, and each time as many bytes as hold ten thousand chunks of one byte.
 */
class ChunkTurns {
  readonly #incoming: IncomingMessage;
  #small = 0;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  count(chunk: Buffer) {
    if (chunk.length >= BODY_CHUNK_BYTES_MIN) return;
    this.#small += 1;
    if (this.#small === BODY_TURN_CHUNKS_MAX) this.#pause();
  }

  /** What was read already still comes: each chunk of it would resume the socket by `_read`. */
  #pause() {
    const incoming = this.#incoming;
    const { socket, _read } = incoming;
    incoming._read = () => {};
    socket.pause();
    setImmediate(() => {
      this.#small = 0;
      incoming._read = _read;
      socket.resume();
    });
  }
}

/**
 * The bytes of a body that is being received, in one buffer: a chunk of one byte would cost some
 * hundred bytes if it were kept as it is.
 */
class GrowingBody {
  readonly #announced: number;
  #bytes: Buffer = Buffer.alloc(0);
  length = 0;
  chunkCount = 0;

  constructor(announced: number) {
    this.#announced = announced;
  }

  get whole(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  add(chunk: Buffer) {
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) this.#grow(needed);
    chunk.copy(this.#bytes, this.length);
    this.length = needed;
  }

  /** Doubles, so that all bytes together are copied about twice, and ends at the announced size. */
  #grow(needed: number) {
    const doubled = Math.max(needed, 2 * this.#bytes.length);
    const size = this.#announced >= needed ? Math.min(doubled, this.#announced) : doubled;
    const grown = Buffer.allocUnsafe(size);
    this.whole.copy(grown);
    this.#bytes = grown;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Decides by the headers; null if the body has to be read. */
function byHead(incoming: IncomingMessage, kind: "json" | "bytes"): Result<Body> | null {
  const { headers } = incoming;
  if (!hasBody(incoming)) return ok(NO_BODY);
  const [mediaType = "", ...parameters] = (headers["content-type"] ?? "").split(";");
  const media = mediaType.trim().toLowerCase();
  if (kind === "json" && media !== "application/json")
    return unsupported(`as ${named(media)}`, JSON_TYPE);
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity") return unsupported(`as ${named(encoding)}`, PLAIN);
  const charset = kind === "json" ? charsetOf(parameters) : "utf-8";
  return /^utf-?8$/.test(charset) ? null : unsupported(`in ${named(charset)}`, PLAIN);
}

const JSON_TYPE = "JSON, with -H 'Content-Type: application/json'";
const PLAIN = "plain UTF-8";

function unsupported(form: string, wanted: string): Result<never> {
  return fail("unsupported_media", { form, wanted });
}

/** The name of a type as a client has sent it, if it is one. */
function named(type: string): string {
  if (type === "") return "no type at all";
  return MEDIA_TYPE.test(type) ? type : "something that is no type";
}

/** As RFC 9110 writes it, or a part of it. */
const MEDIA_TYPE = /^[\w!#$&^.+/-]{1,100}$/;

function charsetOf(parameters: readonly string[]): string {
  const named = parameters.map(
    (one) => /^charset="?([^"]*)"?$/.exec(one.trim().toLowerCase())?.[1],
  );
  return named.find((one) => one !== undefined) ?? "utf-8";
}

function bytesOf(bytes: Buffer): Result<Body> {
  return ok({ object: {}, bytes });
}

const JSON_LIMITS = { depthMax: BODY_NESTING_MAX, valuesMax: BODY_VALUES_MAX };

function invalidJson(fault: SyntaxFault | null): Result<never> {
  if (fault === null) return fail("invalid_json", { reason: "it is no JSON in UTF-8" });
  const { line, column, reason } = fault;
  const where = `at line ${line}, column ${column}`;
  return fail("invalid_json", { line, column, reason: `${where}: ${reason}` });
}

/** Between parsing a large body and handling it, other requests get their turn (P10). */
async function jsonOf(bytes: Buffer): Promise<Result<Body>> {
  const read = readJsonBody(bytes, JSON_LIMITS);
  if (bytes.length > BODY_YIELD_BYTES) await yieldToEventLoop();
  switch (read.kind) {
    case "object":
      return ok({ object: read.object, bytes: NO_BYTES });
    case "malformed":
      return invalidJson(read.fault);
    case "too_deep":
      return fail("invalid_request", {
        reason: `The body is nested deeper than ${BODY_NESTING_MAX} levels`,
      });
    case "too_many_values":
      return fail("invalid_request", {
        reason: `The body has more than ${BODY_VALUES_MAX} values`,
      });
  }
}
