import { createHash, timingSafeEqual } from "node:crypto";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import type { Caller } from "../route.ts";

/** Who is behind an `Authorization` header. */
export interface Authenticator {
  /** Whether callers need a token at all; where they do not, strict routes are refused. */
  readonly needsToken: boolean;
  /** Null if nobody is: no header, another scheme, a token that we do not know. */
  authenticate(authorization: string | undefined): Caller | null | Promise<Caller | null>;
}

/** Whoever can reach a server without a token owns it: it listens on this machine only. */
export function withoutToken(): Authenticator {
  return { needsToken: false, authenticate: () => LOCAL_OWNER };
}

/** One token for everybody, as upstream has it: it says nothing about who is behind it. */
export function sharedToken(token: string): Authenticator {
  const expected = digestOf(token);
  return {
    needsToken: true,
    authenticate(authorization) {
      const given = bearerToken(authorization);
      // Digests are equally long, so the comparison tells nothing, not even the token's length.
      const isKnown = given !== null && timingSafeEqual(digestOf(given), expected);
      return isKnown ? LOCAL_OWNER : null;
    },
  };
}

/** The credential of a bearer header: the scheme in any case, blanks before it skipped. */
function bearerToken(authorization: string | undefined): string | null {
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
