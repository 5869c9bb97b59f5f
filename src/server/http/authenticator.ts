import { createHash, timingSafeEqual } from "node:crypto";
import { parseTenantId, type TenantId, type UserId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Caller } from "./route.ts";

/**
 * Who it is; null if nobody that we know. A refusal says that this cannot be found out now; if it
 * is `unauthorized`, they stay outside meanwhile, and it is not held against them.
 */
export type Identified = Result<Caller | null>;

/** Who is behind an `Authorization` header. */
export interface RequestAuthenticator {
  /** Whether callers need a token at all; where they do not, strict routes are refused. */
  readonly needsToken: boolean;
  /**
   * Nobody is: no header, another scheme, a token that we do not know. Of a suspect, who has tried
   * too much already, only what nobody can guess is looked at.
   */
  authenticate(
    authorization: string | undefined,
    isSuspect?: boolean,
  ): Identified | Promise<Identified>;
  recheck?: Recheck;
}

/**
 * Something has changed about who may do what in a tenant. Whoever remembers who they are looks at
 * once, and at this user above all, who may have done something since they had lost their vote.
 */
type Recheck = (tenantId: TenantId, suspect: Suspect | null) => Promise<void>;

/** By what they came in; who comes by another way has lost nothing when that has ended. */
export interface Suspect {
  readonly userId: UserId;
  readonly authorization: string | undefined;
}

/**
 * One way to know a caller by what follows `Bearer`. What a person may have chosen, and so can be
 * guessed, is judged at once and not in a promise: then each guess is counted before the next.
 */
export interface Authenticator {
  /** Whether what opens it may have been chosen by a person; else it is long and random. */
  readonly isGuessable?: boolean;
  authenticate(token: string): Identified | Promise<Identified>;
  recheck?: Recheck;
}

/** Whoever can reach a server without a token owns it: it listens on this machine only. */
export function withoutToken(): RequestAuthenticator {
  return { needsToken: false, authenticate: () => ok(LOCAL_OWNER) };
}

/** Everybody is somebody by one of these ways; the first that knows them counts. */
export function byToken(ways: readonly Authenticator[]): RequestAuthenticator {
  return {
    needsToken: true,
    authenticate(authorization, isSuspect = false) {
      const token = bearerToken(authorization);
      const open = isSuspect ? ways.filter(({ isGuessable }) => !isGuessable) : ways;
      return token === null ? UNKNOWN_CALLER : firstKnown(open, token);
    },
    async recheck(tenantId, suspect) {
      await Promise.all(ways.map((way) => way.recheck?.(tenantId, suspect)));
    },
  };
}

/** One token for everybody, as upstream has it: it says nothing about who is behind it. */
export function sharedToken(token: string): Authenticator {
  const expected = digestOf(token);
  return {
    isGuessable: true,
    authenticate(given) {
      // Digests are equally long, so the comparison tells nothing, not even the token's length.
      return timingSafeEqual(digestOf(given), expected) ? ok(LOCAL_OWNER) : UNKNOWN_CALLER;
    },
  };
}

/** What every way answers about somebody that it does not know. */
export const UNKNOWN_CALLER: Identified = ok(null);

function firstKnown(
  ways: readonly Authenticator[],
  token: string,
): Identified | Promise<Identified> {
  const [way, ...others] = ways;
  if (way === undefined) return UNKNOWN_CALLER;
  const answer = way.authenticate(token);
  const goOn = (found: Identified) => {
    return found.ok && found.value === null ? firstKnown(others, token) : found;
  };
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer);
}

/** The credential of a bearer header: the scheme in any case, blanks before it skipped. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer[ \t]+(\S.*)$/i.exec(authorization ?? "")?.[1] ?? null;
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Whose sessions they are where nobody says who they are. */
export const LOCAL_TENANT = localTenant();

const LOCAL_OWNER: Caller = { tenantId: LOCAL_TENANT, userId: null, role: "owner" };

function localTenant(): TenantId {
  const tenantId = parseTenantId("local");
  if (tenantId === null) throw new Error("the local tenant has no valid id");
  return tenantId;
}
