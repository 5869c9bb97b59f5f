import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseTenantId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { TOKEN_GRACE_MS_MAX, TOKENS_MAX } from "../../core/limits.ts";
import { isAtLeast, type Role } from "../../core/permission.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { type ChangeAct, changeEntry, type Steward } from "../../session/index.ts";
import type { JournalEntry } from "../../store/store.ts";
import { roleField, userField } from "../http/request-schema.ts";
import type { Members } from "./members.ts";
import {
  allDocuments,
  changeDocument,
  deleteDocuments,
  type LockedChange,
  type TenantStore,
  withTenantMutex,
} from "./tenant-document.ts";

/** A stored token with its id. */
export interface KeptToken extends TokenRecord {
  readonly id: string;
}

/** A token with its text, which cannot be shown again. */
export interface IssuedToken {
  readonly text: string;
  readonly kept: KeptToken;
}

export interface TokenRequest {
  readonly userId: UserId;
  readonly role: Role;
  readonly name: string | null;
  /** Its lifetime; null does not expire. */
  readonly lifeMs: number | null;
}

/** Creates, lists, rotates, revokes and deletes tokens. */
export class Tokens {
  readonly #store: TenantStore;
  readonly #members: Members;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: TenantStore, members: Members, clock: Pick<Clock, "nowMs">) {
    this.#store = store;
    this.#members = members;
    this.#clock = clock;
  }

  /** All tokens, also expired and revoked ones, newest first. */
  async list(tenantId: TenantId): Promise<Result<readonly KeptToken[]>> {
    const documents = await allDocuments(this.#store, tenantId, TOKEN_KIND);
    if (!documents.ok) return documents;
    const tokens = documents.value.flatMap(({ key: id, value }) => {
      const record = readTokenRecord(value);
      return record === null ? [] : [{ ...record, id }];
    });
    return ok(tokens.toSorted((a, b) => b.createdAtMs - a.createdAtMs));
  }

  /** Creates a token for a member, with at most the member's role. */
  create(tenantId: TenantId, request: TokenRequest, by: Steward): Promise<Result<IssuedToken>> {
    return withTenantMutex(this.#store, tenantId, (change) =>
      this.#create(tenantId, request, by, change),
    );
  }

  async #create(
    tenantId: TenantId,
    request: TokenRequest,
    by: Steward,
    change: LockedChange,
  ): Promise<Result<IssuedToken>> {
    const { userId, role, name, lifeMs } = request;
    const member = await this.#members.find(tenantId, userId);
    if (!member.ok) return member;
    if (member.value === null) return fail("member_not_found", { userId });
    if (!isAtLeast(member.value.role, role)) {
      return fail("token_role_exceeded", { userId, role: member.value.role });
    }
    const capacity = await this.#ensureCapacity(tenantId);
    if (!capacity.ok) return capacity;
    const createdAtMs = this.#clock.nowMs();
    const tokenId = freshTokenId();
    const secret = freshSecret();
    const record: TokenRecord = {
      userId,
      role,
      name,
      membership: member.value.membership,
      hash: hashOfSecret(secret),
      formerHash: null,
      formerUntilMs: null,
      createdAtMs,
      expiresAtMs: lifeMs === null ? null : createdAtMs + lifeMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
    };
    const details = { tokenId, userId, role, expiresAtMs: record.expiresAtMs };
    const entry = changeEntry({ act: "token_created", by, details, atMs: createdAtMs });
    const text = credentialText({ tenantId, tokenId, secret });
    const outcome = { text, kept: { ...record, id: tokenId } };
    const made = await change({ kind: TOKEN_KIND, key: tokenId }, () => {
      return ok({ value: record, entry, outcome });
    });
    return made.ok ? this.#confirmed(tenantId, made.value, by) : made;
  }

  /**
   * Another process may create a token just when the tenant is deleted; the token would be all
   * there is of a new tenant. So the token stays only if its member is still there. Otherwise it is
   * deleted, and the audit records that too.
   */
  async #confirmed(
    tenantId: TenantId,
    made: IssuedToken,
    by: Steward,
  ): Promise<Result<IssuedToken>> {
    const { id: tokenId, userId, role, membership, createdAtMs: atMs } = made.kept;
    const member = await this.#members.find(tenantId, userId);
    if (!member.ok) return member;
    if (member.value?.membership === membership) return ok(made);
    const details = { tokenId, userId, role };
    const entry = changeEntry({ act: "token_revoked", by, details, atMs });
    const forgotten = await this.#forget(tenantId, new Set([tokenId]), [entry]);
    return forgotten.ok ? fail("member_not_found", { userId }) : forgotten;
  }

  /** Revokes a token at once. */
  async revoke(tenantId: TenantId, id: string, by: Steward): Promise<Result<void>> {
    const nowMs = this.#clock.nowMs();
    return this.#change(tenantId, id, "token_revoked", by, (record) => {
      return { value: { ...record, revokedAtMs: nowMs }, outcome: undefined };
    });
  }

  /** Gives the token a new secret. The old one is invalid at once, or after the grace period. */
  async rotate(
    tenantId: TenantId,
    id: string,
    graceMs: number,
    by: Steward,
  ): Promise<Result<IssuedToken>> {
    const secret = freshSecret();
    const nowMs = this.#clock.nowMs();
    return this.#change(tenantId, id, "token_rotated", by, (record) => {
      const former =
        graceMs > 0
          ? { formerHash: record.hash, formerUntilMs: nowMs + graceMs }
          : { formerHash: null, formerUntilMs: null };
      const value = { ...record, ...former, hash: hashOfSecret(secret) };
      const text = credentialText({ tenantId, tokenId: id, secret });
      return { value, outcome: { text, kept: { ...value, id } } };
    });
  }

  /** Deletes all tokens of a user. */
  async removeOf(tenantId: TenantId, userId: UserId): Promise<Result<void>> {
    const tokens = await this.list(tenantId);
    if (!tokens.ok) return tokens;
    const theirs = tokens.value.filter((token) => token.userId === userId);
    return this.#forget(tenantId, new Set(theirs.map(({ id }) => id)));
  }

  async #change<Outcome>(
    tenantId: TenantId,
    tokenId: string,
    act: ChangeAct,
    by: Steward,
    change: (record: TokenRecord) => { readonly value: TokenRecord; readonly outcome: Outcome },
  ): Promise<Result<Outcome>> {
    if (!isTokenId(tokenId)) return fail("token_not_found", { tokenId });
    const nowMs = this.#clock.nowMs();
    const address = { tenantId, kind: TOKEN_KIND, key: tokenId };
    return changeDocument(this.#store, address, (before) => {
      const record = before === null ? null : readTokenRecord(before);
      if (record === null || !isInUse(record, nowMs)) return fail("token_not_found", { tokenId });
      const { userId, role } = record;
      const details = { tokenId, userId, role };
      return ok({ ...change(record), entry: changeEntry({ act, by, details, atMs: nowMs }) });
    });
  }

  /** Deletes expired and revoked tokens when the limit is reached. */
  async #ensureCapacity(tenantId: TenantId): Promise<Result<void>> {
    const tokens = await this.list(tenantId);
    if (!tokens.ok || tokens.value.length < TOKENS_MAX) return tokens.ok ? DONE : tokens;
    const nowMs = this.#clock.nowMs();
    const over = tokens.value.filter((token) => !isInUse(token, nowMs));
    if (over.length === 0) return fail("token_limit_exceeded", { limit: TOKENS_MAX });
    return this.#forget(tenantId, new Set(over.map(({ id }) => id)));
  }

  async #forget(
    tenantId: TenantId,
    ids: ReadonlySet<string>,
    entries: readonly JournalEntry[] = [],
  ): Promise<Result<void>> {
    const documents = await allDocuments(this.#store, tenantId, TOKEN_KIND);
    if (!documents.ok) return documents;
    const over = documents.value.filter(({ key }) => ids.has(key));
    return deleteDocuments(this.#store, tenantId, over, entries);
  }
}

const timeMs = z.number().nullable();

const record = z.object({
  userId: userField,
  role: roleField,
  name: z.string().nullable(),
  /** The member's `membership` when the token was created: the token ends with it. */
  membership: z.string(),
  hash: z.string(),
  /** The secret before the last rotation, while it is valid. */
  formerHash: z.string().nullable(),
  formerUntilMs: timeMs,
  createdAtMs: z.number(),
  expiresAtMs: timeMs,
  lastUsedAtMs: timeMs,
  revokedAtMs: timeMs,
});

/** A token as stored: everything but its secret. */
export type TokenRecord = z.output<typeof record>;

/** The kind of the documents that hold tokens, by id. */
export const TOKEN_KIND = "token";

/** Null if the server did not write it; such a token is invalid. */
export function readTokenRecord(value: JsonObject): TokenRecord | null {
  return record.safeParse(value).data ?? null;
}

/** Neither revoked nor expired. */
export function isInUse({ revokedAtMs, expiresAtMs }: TokenRecord, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs);
}

/** Whether the secret is the token's, or the former one during its grace period. */
export function isOpenedBy(token: TokenRecord, secret: string, nowMs: number): boolean {
  const { hash, formerHash, formerUntilMs } = token;
  const isOwn = isSecretOf(secret, hash);
  const isFormer = isSecretOf(secret, formerHash);
  if (isOwn || !isFormer || formerUntilMs === null) return isOwn;
  // A clock that is set back must not prolong the grace period.
  const leftMs = formerUntilMs - nowMs;
  return leftMs > 0 && leftMs <= TOKEN_GRACE_MS_MAX;
}

/** The parts of a token's text. */
export interface Credential {
  readonly tenantId: TenantId;
  readonly tokenId: string;
  readonly secret: string;
}

/** The last two parts contain no underscore, so a tenant's name may. */
const SHAPE = /^fmt_(.{1,128})_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** The text that the user sees once. */
export function credentialText({ tenantId, tokenId, secret }: Credential): string {
  return `fmt_${tenantId}_${tokenId}_${secret}`;
}

/** Null if it is not a token of this server. */
export function parseCredential(text: string): Credential | null {
  const [, tenant = "", tokenId = "", secret = ""] = SHAPE.exec(text) ?? [];
  const tenantId = parseTenantId(tenant);
  return tenantId === null ? null : { tenantId, tokenId, secret };
}

export function freshTokenId(): string {
  return randomBytes(8).toString("hex");
}

/** 256 random bits cannot be guessed, so the hash needs no salt. */
export function freshSecret(): string {
  return randomBytes(32).toString("hex");
}

function isTokenId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** The stored form of a secret. */
export function hashOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares in constant time. */
export function isSecretOf(secret: string, hash: string | null): boolean {
  const presented = Buffer.from(hashOfSecret(secret));
  const expected = Buffer.from(hash ?? "");
  return presented.length === expected.length && timingSafeEqual(presented, expected);
}
