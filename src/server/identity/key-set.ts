import { readFile } from "node:fs/promises";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import { z } from "zod";
import {
  KEY_SET_BYTES_MAX,
  KEY_SET_FAILED_MS,
  KEY_SET_KEPT_MS_MAX,
  KEY_SET_MS_MAX,
  KEY_SET_RETRY_MS,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { isLoopbackName } from "../gate/own-names.ts";

/** The keys cannot be had, which says nothing about any token. */
export class KeySetAway extends Error {}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/**
 * The keys that JWTs are checked with, from a file, which is read now, or from an address, which
 * is asked when the first one is wanted.
 */
export async function openKeySet(place: string): Promise<Result<JWTVerifyGetKey>> {
  return /^https?:\/\//i.test(place) ? remoteSet(place) : setInFile(place);
}

async function setInFile(path: string): Promise<Result<JWTVerifyGetKey>> {
  try {
    return ok(createLocalJWKSet(keySetIn(await readFile(path, "utf8"))));
  } catch (thrown) {
    return wrong(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function remoteSet(place: string): Result<JWTVerifyGetKey> {
  if (!URL.canParse(place)) return wrong("it is no address");
  const url = new URL(place);
  if (url.protocol === "http:" && !isLoopbackName(url.hostname)) {
    return wrong("keys that come over the network come by https");
  }
  return ok(
    createRemoteJWKSet(url, {
      timeoutDuration: KEY_SET_MS_MAX,
      cooldownDuration: KEY_SET_RETRY_MS,
      cacheMaxAge: KEY_SET_KEPT_MS_MAX,
      [customFetch]: boundedFetch(),
    }),
  );
}

/**
 * Takes no more than a set may weigh, and leaves a server alone for a moment that has just failed:
 * anybody can send tokens that nobody has signed, and each would have it asked again.
 */
function boundedFetch(): FetchImplementation {
  let failedAtMs = Number.NEGATIVE_INFINITY;
  return async (url, options) => {
    if (performance.now() - failedAtMs < KEY_SET_FAILED_MS) throw new KeySetAway("it just failed");
    try {
      const response = await fetch(url, options);
      if (response.status !== 200) throw new Error(`it answered ${response.status}`);
      return Response.json(keySetIn(await boundedText(response)));
    } catch (thrown) {
      failedAtMs = performance.now();
      throw new KeySetAway("the keys cannot be had", { cause: thrown });
    }
  };
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > KEY_SET_BYTES_MAX) throw new Error("it is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function keySetIn(text: string): JSONWebKeySet {
  return keySet.parse(JSON.parse(text));
}

function wrong(reason: string): Result<never> {
  return fail("invalid_server_config", { path: "--jwt-jwks", reason });
}
