import { readFile, stat } from "node:fs/promises";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { z } from "zod";
import {
  KEY_FILE_KEPT_MS_MAX,
  KEY_FILE_RETRY_MS,
  KEY_SET_BYTES_MAX,
  KEY_SET_FAILED_MS,
  KEY_SET_KEPT_MS_MAX,
  KEY_SET_MS_MAX,
  KEY_SET_RETRY_MS,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../session/world.ts";
import { isLoopbackName } from "../gate/own-names.ts";
import { KeptKeys } from "./kept-keys.ts";

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/**
 * The keys that JWTs are checked with, from a file, which is read now and again when it may have
 * changed, or from an address, which is asked when the first one is wanted.
 */
export async function openKeySet(
  place: string,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<JWTVerifyGetKey>> {
  return /^https?:\/\//i.test(place) ? remoteSet(place, clock) : setInFile(place, clock);
}

async function setInFile(
  path: string,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<JWTVerifyGetKey>> {
  const keys = new KeptKeys(
    {
      load: () => keysInFile(path),
      keptMs: KEY_FILE_KEPT_MS_MAX,
      retryMs: KEY_FILE_RETRY_MS,
      failedMs: KEY_FILE_RETRY_MS,
    },
    clock,
  );
  try {
    await keys.load();
    return ok(keys.find);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.cause : thrown;
    return wrong(cause instanceof Error ? cause.message : String(cause));
  }
}

async function keysInFile(path: string): Promise<JSONWebKeySet> {
  if ((await stat(path)).size > KEY_SET_BYTES_MAX) throw new Error("it is too large");
  return keySetIn(await readFile(path, "utf8"));
}

function remoteSet(place: string, clock: Pick<Clock, "nowMs">): Result<JWTVerifyGetKey> {
  if (!URL.canParse(place)) return wrong("it is no address");
  const url = new URL(place);
  if (url.protocol === "http:" && !isLoopbackName(url.hostname)) {
    return wrong("keys that come over the network come by https");
  }
  const keys = new KeptKeys(
    {
      load: () => keysAt(url),
      keptMs: KEY_SET_KEPT_MS_MAX,
      retryMs: KEY_SET_RETRY_MS,
      failedMs: KEY_SET_FAILED_MS,
    },
    clock,
  );
  return ok(keys.find);
}

/** No way to elsewhere is followed: whoever is asked is who was named. */
async function keysAt(url: URL): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(KEY_SET_MS_MAX);
  const headers = { accept: "application/json" };
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) throw new Error(`it answered ${response.status}`);
  return keySetIn(await boundedText(response));
}

/** Takes no more than a set may weigh. */
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
