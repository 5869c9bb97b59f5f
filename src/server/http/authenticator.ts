import { createHash, timingSafeEqual } from "node:crypto";
import { parseTenantId, type TenantId, type UserId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Caller } from "./route.ts";

/**
 * The caller, or null if unknown. A refusal means that the check failed. If it is `unauthorized`,
 * the request is refused but does not count as a failed attempt.
 */
export type Identified = Result<Caller | null>;

/** Finds the caller of an `Authorization` header. */
export interface RequestAuthenticator {
  /** Whether callers need a token. Without tokens, strict routes are refused. */
  readonly needsToken: boolean;
  /**
   * Returns null for a missing header, another scheme or an unknown token. For a suspect, who
   * failed too often, only credentials that cannot be guessed are checked.
   */
  authenticate(
    authorization: string | undefined,
    isSuspect?: boolean,
  ): Identified | Promise<Identified>;
  recheck?: Recheck;
}

/**
 * Permissions in a tenant have changed. Authenticators that remember callers check again, above all
 * this user, who may have acted after losing the vote.
 */
type Recheck = (tenantId: TenantId, suspect: Suspect | null) => Promise<void>;

/**
 * The user and the credential used. Losing one credential does not affect another one of the same
 * user.
 */
export interface Suspect {
  readonly userId: UserId;
  readonly authorization: string | undefined;
}

/**
 * Recognizes callers by one kind of token. A token that a person may have chosen can be guessed, so
 * it is checked synchronously: each guess is counted before the next one.
 */
export interface Authenticator {
  /** Whether a person may have chosen the token; otherwise it is long and random. */
  readonly isGuessable?: boolean;
  authenticate(token: string): Identified | Promise<Identified>;
  recheck?: Recheck;
}

/** Without tokens every caller is the owner: the server listens on this machine only. */
export function withoutToken(log: Log): RequestAuthenticator {
  let isTold = false;
  return {
    needsToken: false,
    authenticate(authorization) {
      // To the one who sends it, it looks as if the token were checked.
      if (!isTold && bearerToken(authorization) !== null) {
        isTold = true;
        log("token ignored", { advice: NO_TOKEN });
      }
      return ok(LOCAL_OWNER);
    },
  };
}

const NO_TOKEN = "a caller sent a token, but this server has none: start it with --token-file FILE";

/** Tries the authenticators in order; the first that knows the token decides. */
export function byToken(authenticators: readonly Authenticator[]): RequestAuthenticator {
  return {
    needsToken: true,
    authenticate(authorization, isSuspect = false) {
      const token = bearerToken(authorization);
      const open = isSuspect
        ? authenticators.filter(({ isGuessable }) => !isGuessable)
        : authenticators;
      return token === null ? UNKNOWN_CALLER : firstKnown(open, token);
    },
    async recheck(tenantId, suspect) {
      await Promise.all(authenticators.map((one) => one.recheck?.(tenantId, suspect)));
    },
  };
}

/** One token for all callers. It does not identify a user. A person may have chosen it. */
export function sharedToken(token: string, { isGuessable = true } = {}): Authenticator {
  const expected = digestOf(token);
  return {
    isGuessable,
    authenticate(presented) {
      // Digests have equal length, so the comparison reveals nothing, not even the token's length.
      return timingSafeEqual(digestOf(presented), expected) ? ok(LOCAL_OWNER) : UNKNOWN_CALLER;
    },
  };
}

/** The result for an unknown token. */
export const UNKNOWN_CALLER: Identified = ok(null);

function firstKnown(
  authenticators: readonly Authenticator[],
  token: string,
): Identified | Promise<Identified> {
  const [first, ...others] = authenticators;
  if (first === undefined) return UNKNOWN_CALLER;
  const answer = first.authenticate(token);
  const goOn = (found: Identified) => {
    return found.ok && found.value === null ? firstKnown(others, token) : found;
  };
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer);
}

/** The token of a bearer header. The scheme's case does not matter. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer[ \t]+(\S.*)$/i.exec(authorization ?? "")?.[1] ?? null;
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The tenant of all callers that are not identified. */
export const LOCAL_TENANT = localTenant();

/** The caller of a server without tokens, and of its shared token. */
export const LOCAL_OWNER: Caller = { tenantId: LOCAL_TENANT, userId: null, role: "owner" };

/** Whether the caller has the operator's token, the only one without a user. */
export function isOperator(caller: Pick<Caller, "tenantId" | "userId"> | null): boolean {
  return caller !== null && caller.userId === null && caller.tenantId === LOCAL_TENANT;
}

function localTenant(): TenantId {
  const tenantId = parseTenantId("local");
  if (tenantId === null) throw new Error("the local tenant has no valid id");
  return tenantId;
}
