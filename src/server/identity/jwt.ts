import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
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
import type { Clock } from "../../session/world.ts";
import { type Identified, NOBODY, type WayIn } from "../http/authenticator.ts";
import { isLoopbackName } from "../http/origins.ts";
import type { Caller } from "../http/route.ts";

/** Whose JWTs are believed, and where in them it says what we want to know. */
export interface JwtTrust {
  /** A file, or an address. */
  readonly keySet: string;
  readonly issuer: string;
  readonly audience: string;
  readonly tenantClaim: string;
  readonly roleClaim: string;
}

/** Only these: a key that is public must never be taken for a secret that both sides know. */
const ALGORITHMS = ["RS256", "ES256"];

export async function openJwtWay(
  trust: JwtTrust,
  clock: Pick<Clock, "nowMs">,
): Promise<Result<WayIn>> {
  const keys = await openKeySet(trust.keySet, clock);
  return keys.ok ? ok(new JwtWay(trust, keys.value, clock)) : keys;
}

/** In by what an issuer has signed: tenant and role are its word, and its user's name. */
class JwtWay implements WayIn {
  readonly #trust: JwtTrust;
  readonly #keys: JWTVerifyGetKey;
  readonly #clock: Pick<Clock, "nowMs">;
  /** By hash of the token. */
  readonly #verified: Verified;

  constructor(trust: JwtTrust, keys: JWTVerifyGetKey, clock: Pick<Clock, "nowMs">) {
    this.#trust = trust;
    this.#keys = keys;
    this.#clock = clock;
    this.#verified = new Verified(JWT_CACHED_MAX, () => clock.nowMs());
  }

  recognize(token: string): Identified | Promise<Identified> {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return NOBODY;
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
      if (caller === null) return NOBODY;
      const endsMs = (payload.exp ?? 0) * 1_000;
      this.#verified.keep(hash, caller, Math.min(endsMs, nowMs + JWT_CACHED_MS_MAX));
      return ok(caller);
    } catch (thrown) {
      if (thrown instanceof KeySetAway) return fail("key_set_unavailable");
      // The issuer may have a new key that was not asked for yet: that is no wrong token.
      return thrown instanceof KeyUnknownYet ? fail("unauthorized") : NOBODY;
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
 * Issuers name their users by rules of their own, such as `auth0|5f7c`. A name that is none by ours
 * stands here by its hash, so that it is the same user each time and never another one.
 */
function userOf(subject: unknown): UserId | null {
  if (typeof subject !== "string" || subject === "") return null;
  if (subject.length > JWT_SUBJECT_CHARS_MAX) return null;
  const plain = subject.startsWith("sub:") ? null : parseUserId(subject);
  return plain ?? parseUserId(`sub:${createHash("sha256").update(subject).digest("hex")}`);
}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/**
 * The keys that JWTs are checked with, from a file, which is read now and again when it may have
 * changed, or from an address, which is asked when the first one is wanted.
 */
async function openKeySet(
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

/** The keys cannot be had, which says nothing about any token. */
class KeySetAway extends Error {}

/** A key that is not among those that were had a moment ago; it may have been added since. */
class KeyUnknownYet extends Error {}

/** Where keys come from, and how often they are asked for there. */
interface KeySource {
  load(): Promise<JSONWebKeySet>;
  /** How long they are believed to be the same. */
  readonly keptMs: number;
  /** How soon one that is not among them may have them asked for again. */
  readonly retryMs: number;
  /** How long a source is left alone that has failed: anybody can send unknown keys' tokens. */
  readonly failedMs: number;
}

type Keys = ReturnType<typeof createLocalJWKSet>;

/** Keys for JWTs as they are now, or were a little while ago. */
class KeptKeys {
  readonly #source: KeySource;
  readonly #clock: Pick<Clock, "nowMs">;
  #keys: Keys | null = null;
  #loadedAtMs: number | null = null;
  #failedAtMs: number | null = null;
  #loading: Promise<Keys> | null = null;

  constructor(source: KeySource, clock: Pick<Clock, "nowMs">) {
    this.#source = source;
    this.#clock = clock;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { keptMs, retryMs } = this.#source;
    const keys = this.#isWithin(this.#loadedAtMs, keptMs) ? this.#keys : null;
    try {
      return await (keys ?? (await this.load()))(header, token);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      // The keys were asked for because of this one, so there is nothing newer to be had.
      if (keys === null) throw thrown;
      if (this.#isWithin(this.#loadedAtMs, retryMs)) throw new KeyUnknownYet("it is not known yet");
      return (await this.load())(header, token);
    }
  };

  /** Asks for them, once for all who want them now. */
  load(): Promise<Keys> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load(): Promise<Keys> {
    if (this.#isWithin(this.#failedAtMs, this.#source.failedMs)) {
      throw new KeySetAway("it just failed");
    }
    try {
      const keys = createLocalJWKSet(await this.#source.load());
      this.#keys = keys;
      this.#loadedAtMs = this.#clock.nowMs();
      return keys;
    } catch (thrown) {
      this.#failedAtMs = this.#clock.nowMs();
      throw new KeySetAway("the keys cannot be had", { cause: thrown });
    }
  }

  /** What was in the future, because the clock was set back, was not a moment ago. */
  #isWithin(sinceMs: number | null, ms: number): boolean {
    if (sinceMs === null) return false;
    const ageMs = this.#clock.nowMs() - sinceMs;
    return ageMs >= 0 && ageMs < ms;
  }
}

interface Known {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Who is behind a token that was verified, for a while; of too many the oldest goes (A12). */
export class Verified {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();

  constructor(most: number, nowMs: () => number) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  find(hash: string): Caller | null {
    const known = this.#known.get(hash);
    if (known === undefined) return null;
    const nowMs = this.#nowMs();
    // What was verified in the future was so before the clock was set back: nobody knows how long.
    if (nowMs >= known.sinceMs && nowMs < known.untilMs) return known.caller;
    this.#known.delete(hash);
    return null;
  }

  keep(hash: string, caller: Caller, untilMs: number) {
    this.#known.delete(hash);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#most && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(hash, { caller, sinceMs: this.#nowMs(), untilMs });
  }
}
