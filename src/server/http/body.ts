import type { IncomingMessage } from "node:http";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { JsonObject } from "../../core/json.ts";
import {
  BODIES_HELD_BYTES_MAX,
  BODY_DROPPED_BYTES_MAX,
  BODY_DROPPED_MS_MAX,
  BODY_NESTING_MAX,
  BODY_YIELD_BYTES,
  JSON_BODY_BYTES_MAX,
  RAW_BODY_BYTES_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { readJsonBody } from "../../wire/json.ts";

export interface Body {
  readonly object: JsonObject;
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array();
const NO_BODY: Body = { object: {}, bytes: NO_BYTES };

type Received =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "too_large" | "no_capacity" | "gone" };

/** Reads request bodies, within a limit for each and one for all together. */
export class BodyReader {
  readonly #clock: Clock;
  #heldBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Passes the body to `use`, and releases its memory when that is done. Null if the client
   * disconnected: then no answer is needed.
   */
  async with<Outcome>(
    incoming: IncomingMessage,
    kind: "json" | "bytes",
    use: (body: Result<Body>) => Outcome | Promise<Outcome>,
  ): Promise<Outcome | null> {
    const problem = kindProblem(incoming, kind);
    if (problem !== null) return use(problem);
    const bytesMax = kind === "json" ? JSON_BODY_BYTES_MAX : RAW_BODY_BYTES_MAX;
    const held = { heldBytes: 0 };
    try {
      const received = await this.#receive(incoming, bytesMax, held);
      switch (received.kind) {
        case "whole":
          return await use(
            kind === "json" ? await jsonOf(received.bytes) : bytesOf(received.bytes),
          );
        case "too_large":
          this.#drop(incoming);
          return await use(fail("body_too_large", { limitMb: bytesMax / 1_048_576 }));
        case "no_capacity":
          this.#drop(incoming);
          return await use(fail("server_busy"));
        case "gone":
          return null;
      }
    } finally {
      this.#heldBytes -= held.heldBytes;
    }
  }

  #receive(
    incoming: IncomingMessage,
    bytesMax: number,
    held: { heldBytes: number },
  ): Promise<Received> {
    const announced = Number(incoming.headers["content-length"] ?? 0);
    if (incoming.destroyed) return Promise.resolve({ kind: "gone" });
    if (announced > bytesMax) return Promise.resolve({ kind: "too_large" });
    const { promise, resolve } = Promise.withResolvers<Received>();
    const chunks: Buffer[] = [];
    const take = (chunk: Buffer) => {
      held.heldBytes += chunk.length;
      this.#heldBytes += chunk.length;
      chunks.push(chunk);
      if (held.heldBytes > bytesMax) resolve({ kind: "too_large" });
      else if (this.#heldBytes > BODIES_HELD_BYTES_MAX) resolve({ kind: "no_capacity" });
    };
    const end = () => resolve({ kind: "whole", bytes: Buffer.concat(chunks) });
    const gone = () => resolve({ kind: "gone" });
    incoming.on("data", take).once("end", end).once("close", gone).once("error", gone);
    return promise.finally(() => {
      incoming.off("data", take).off("end", end).off("close", gone);
      incoming.pause();
    });
  }

  /** Discards the rest of the body, so that the client gets to read the answer. */
  #drop(incoming: IncomingMessage) {
    let bytes = 0;
    const cut = () => incoming.destroy();
    const callOff: CallOff = this.#clock.after(BODY_DROPPED_MS_MAX, cut);
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BODY_DROPPED_BYTES_MAX) cut();
    });
    incoming.once("close", callOff);
    incoming.resume();
  }
}

/** Decides by the headers; null if the body has to be read. */
function kindProblem(incoming: IncomingMessage, kind: "json" | "bytes"): Result<Body> | null {
  const { headers } = incoming;
  const isChunked = headers["transfer-encoding"] !== undefined;
  if (!isChunked && Number(headers["content-length"] ?? 0) === 0) return ok(NO_BODY);
  const [mediaType = "", ...parameters] = (headers["content-type"] ?? "").split(";");
  if (kind === "json" && mediaType.trim().toLowerCase() !== "application/json") return ok(NO_BODY);
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity") return fail("unsupported_media", { encoding });
  const charset = kind === "json" ? charsetOf(parameters) : "utf-8";
  return /^utf-?8$/.test(charset) ? null : fail("unsupported_media", { encoding: charset });
}

function charsetOf(parameters: readonly string[]): string {
  const named = parameters.map(
    (one) => /^charset="?([^"]*)"?$/.exec(one.trim().toLowerCase())?.[1],
  );
  return named.find((one) => one !== undefined) ?? "utf-8";
}

function bytesOf(bytes: Buffer): Result<Body> {
  return ok({ object: {}, bytes });
}

/** Between parsing a large body and handling it, other requests get their turn (P10). */
async function jsonOf(bytes: Buffer): Promise<Result<Body>> {
  const read = readJsonBody(bytes, BODY_NESTING_MAX);
  if (bytes.length > BODY_YIELD_BYTES) await yieldToEventLoop();
  switch (read.kind) {
    case "object":
      return ok({ object: read.object, bytes: NO_BYTES });
    case "malformed":
      return fail("invalid_json");
    case "too_deep":
      return fail("invalid_request", {
        reason: `The body is nested deeper than ${BODY_NESTING_MAX} levels`,
      });
  }
}
