import { createHash } from "node:crypto";
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { parseTenantId, parseUserId, type UserId } from "../../core/id.ts";
import {
  JWT_CACHED_MAX,
  JWT_CACHED_MS_MAX,
  JWT_SKEW_MS,
  JWT_SUBJECT_CHARS_MAX,
} from "../../core/limits.ts";
import { parseRole } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../session/world.ts";
import { type Identified, NOBODY, type WayIn } from "../gate/authenticator.ts";
import type { Caller } from "../route.ts";
import { KeySetAway, KeyUnknownYet } from "./kept-keys.ts";
import { openKeySet } from "./key-set.ts";
import { Verified } from "./verified.ts";

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
