import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { z } from "zod";
import { parseTenantId, parseUserId, type UserId } from "../../core/id.ts";
import {
  JWT_CACHED_MAX,
  JWT_CACHED_MS_MAX,
  JWT_SKEW_MS,
  JWT_SUBJECT_CHARS_MAX,
  KEY_FILE_KEPT_MS_MAX,
  KEY_FILE_RETRY_MS,
  KEY_SET_BYTES_MAX,
  KEY_SET_FAILED_MS,
  KEY_SET_KEPT_MS_MAX,
  KEY_SET_MS_MAX,
  KEY_SET_RETRY_MS,
} from "../../core/limits.ts";
import { parseRole } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Authenticator, type Identified, UNKNOWN_CALLER } from "../http/authenticator.ts";
import { isLoopbackName } from "../http/origins.ts";
import type { Caller } from "../http/route.ts";

/** The issuer whose JWTs the server accepts, and the claims that name tenant and role. */
export interface JwtTrust {
  /** A file, or a URL. */
  readonly keySet: string;
  readonly issuer: string;
  readonly audience: string;
  readonly tenantClaim: string;
  readonly roleClaim: string;
}

/** Asymmetric algorithms only: a public key must never be used as a shared secret. */
const ALGORITHMS = ["RS256", "ES256"];

export async function openJwtAuthenticator(
  trust: JwtTrust,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<Authenticator>> {
  const keys = await openKeySet(trust.keySet, clock);
  return keys.ok ? ok(new JwtAuthenticator(trust, keys.value, clock)) : keys;
}

/** Authenticates by an issuer's signature. Tenant, role and user are what the issuer says. */
class JwtAuthenticator implements Authenticator {
  readonly #trust: JwtTrust;
  readonly #keys: JWTVerifyGetKey;
  readonly #clock: Pick<Clock, "nowMs">;
  /** By hash of the token. */
  readonly #verified: VerifiedCallers;

  constructor(trust: JwtTrust, keys: JWTVerifyGetKey, clock: Pick<Clock, "nowMs">) {
    this.#trust = trust;
    this.#keys = keys;
    this.#clock = clock;
    this.#verified = new VerifiedCallers(JWT_CACHED_MAX, () => clock.nowMs());
  }

  authenticate(token: string): Identified | Promise<Identified> {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return UNKNOWN_CALLER;
    const hash = createHash("sha256").update(token).digest("base64");
    const known = this.#verified.find(hash);
    return known === null ? this.#verify(token, hash) : ok(known);
  }

  async #verify(token: string, hash: string): Promise<Identified> {
    const { issuer, audience } = this.#trust;
    const nowMs = this.#clock.nowMs();
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        algorithms: ALGORITHMS,
        issuer,
        audience,
        requiredClaims: ["exp", "sub"],
        clockTolerance: JWT_SKEW_MS / 1_000,
        currentDate: new Date(nowMs),
      });
      const caller = this.#callerIn(payload);
      if (caller === null) return UNKNOWN_CALLER;
      const endsMs = (payload.exp ?? 0) * 1_000;
      this.#verified.keep(hash, caller, Math.min(endsMs, nowMs + JWT_CACHED_MS_MAX));
      return ok(caller);
    } catch (thrown) {
      if (thrown instanceof KeySetUnavailable) return fail("key_set_unavailable");
      // The issuer may have added the key since the last fetch, so the token may be good.
      return thrown instanceof KeyNotFetched ? fail("unauthorized") : UNKNOWN_CALLER;
    }
  }

  #callerIn(payload: JWTPayload): Caller | null {
    const tenant = payload[this.#trust.tenantClaim];
    const tenantId = typeof tenant === "string" ? parseTenantId(tenant) : null;
    const role = parseRole(payload[this.#trust.roleClaim]);
    const userId = userOf(payload.sub);
    if (tenantId === null || role === null || userId === null) return null;
    return { tenantId, userId, role };
  }
}

/**
 * Issuers name users by their own rules, such as `auth0|5f7c`. A name that is not a valid user id
 * is replaced by its hash: the same user always gets the same id, and no other user gets it.
 */
function userOf(subject: unknown): UserId | null {
  if (typeof subject !== "string" || subject === "") return null;
  if (subject.length > JWT_SUBJECT_CHARS_MAX) return null;
  const plain = subject.startsWith("sub:") ? null : parseUserId(subject);
  return plain ?? parseUserId(`sub:${createHash("sha256").update(subject).digest("hex")}`);
}

interface VerifiedCaller {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Callers of verified tokens, each for a while. Beyond the limit the oldest is evicted. */
export class VerifiedCallers {
  readonly #nowMs: () => number;
  readonly #known: BoundedMap<string, VerifiedCaller>;

  constructor(limit: number, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#known = new BoundedMap(limit);
  }

  find(hash: string): Caller | null {
    const known = this.#known.get(hash);
    if (known === undefined) return null;
    const nowMs = this.#nowMs();
    // After the clock was set back, the age of an entry from the future is unknown.
    if (nowMs >= known.sinceMs && nowMs < known.untilMs) return known.caller;
    this.#known.delete(hash);
    return null;
  }

  keep(hash: string, caller: Caller, untilMs: number) {
    this.#known.set(hash, { caller, sinceMs: this.#nowMs(), untilMs });
  }
}

/** Opens the keys that JWTs are verified with. A file is read now, a URL with the first token. */
async function openKeySet(
  location: string,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<JWTVerifyGetKey>> {
  return /^https?:\/\//i.test(location) ? openRemote(location, clock) : openFile(location, clock);
}

async function openFile(
  path: string,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<JWTVerifyGetKey>> {
  const source = {
    url: pathToFileURL(path),
    load: () => textOfFile(path),
    maxAgeMs: KEY_FILE_KEPT_MS_MAX,
    cooldownMs: KEY_FILE_RETRY_MS,
    failedMs: KEY_FILE_RETRY_MS,
  };
  const keys = keySetFrom(source, clock);
  try {
    await keys.reload();
    return ok(keys.find);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.cause : thrown;
    return invalidKeySet(cause instanceof Error ? cause.message : String(cause));
  }
}

function openRemote(location: string, clock: Pick<Clock, "nowMs">): Result<JWTVerifyGetKey> {
  if (!URL.canParse(location)) return invalidKeySet("it is not a URL");
  const url = new URL(location);
  if (url.protocol === "http:" && !isLoopbackName(url.hostname)) {
    return invalidKeySet("a key set from another machine needs https");
  }
  const source = {
    url,
    load: (signal: AbortSignal) => textAt(url, signal),
    maxAgeMs: KEY_SET_KEPT_MS_MAX,
    cooldownMs: KEY_SET_RETRY_MS,
    failedMs: KEY_SET_FAILED_MS,
  };
  return ok(keySetFrom(source, clock).find);
}

function invalidKeySet(reason: string): Result<never> {
  return fail("invalid_server_config", { path: "--jwt-jwks", reason });
}

async function textOfFile(path: string): Promise<string> {
  if ((await stat(path)).size > KEY_SET_BYTES_MAX) throw new Error("it is too large");
  return readFile(path, "utf8");
}

/** Follows no redirect: keys come only from the configured URL. */
async function textAt(url: URL, signal: AbortSignal): Promise<string> {
  const headers = { accept: "application/json" };
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) throw new Error(`it answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > KEY_SET_BYTES_MAX) throw new Error("it is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The keys cannot be read, which says nothing about any token. */
class KeySetUnavailable extends Error {}

/** The key is not in the set, and the set may not be fetched again yet. */
class KeyNotFetched extends Error {}

/** Where keys come from, and how often they may be read. */
interface KeySource {
  readonly url: URL;
  load(signal: AbortSignal): Promise<string>;
  /** How long a set is used before it is read again. */
  readonly maxAgeMs: number;
  /** How long after a read an unknown key causes no further one. */
  readonly cooldownMs: number;
  /** How long after a failure nothing is read: any client can send tokens of unknown keys. */
  readonly failedMs: number;
}

const jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/** Caches a key set by `jose`, whose fetch is replaced by one within our limits. */
function keySetFrom(source: KeySource, clock: Pick<Clock, "nowMs">) {
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const set = createRemoteJWKSet(source.url, {
    cacheMaxAge: source.maxAgeMs,
    cooldownDuration: source.cooldownMs,
    timeoutDuration: KEY_SET_MS_MAX,
    [customFetch]: async (_url, { signal }) => {
      const sinceFailureMs = clock.nowMs() - failedAtMs;
      if (sinceFailureMs >= 0 && sinceFailureMs < source.failedMs) {
        throw new KeySetUnavailable("the last attempt failed a moment ago");
      }
      try {
        return Response.json(jwks.parse(JSON.parse(await source.load(signal))));
      } catch (cause) {
        failedAtMs = clock.nowMs();
        throw new KeySetUnavailable("the key set cannot be read", { cause });
      }
    },
  });
  const find: JWTVerifyGetKey = async (header, token) => {
    // After the clock was set back, `jose` would take the set for fresh until the clock catches up.
    const isSetBack = clock.nowMs() < askedAtMs;
    askedAtMs = clock.nowMs();
    if (isSetBack) await set.reload();
    const isCoolingDown = set.coolingDown && !isSetBack;
    try {
      return await set(header, token);
    } catch (thrown) {
      const isUnknownKey = thrown instanceof errors.JWKSNoMatchingKey;
      throw isUnknownKey && isCoolingDown ? new KeyNotFetched("it is not fetched yet") : thrown;
    }
  };
  return { find, reload: () => set.reload() };
}
