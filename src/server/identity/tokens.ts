import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseTenantId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { TOKEN_GRACE_MS_MAX, TOKENS_MAX } from "../../core/limits.ts";
import { isAtLeast, type Role } from "../../core/permission.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { ChangeAct } from "../../session/audit/audited.ts";
import { changeEntry, type Steward } from "../../session/audit/entries.ts";
import type { Clock } from "../../session/world.ts";
import type { Document, JournalEntry, SessionStore } from "../../store/store.ts";
import { roleField, userField } from "../http/request-schema.ts";
import type { Members } from "./members.ts";
import { type ChangeInTurn, changeDocument, inTurn } from "./tenant-document.ts";

/** A token under its id. */
export interface KeptToken extends TokenRecord {
  readonly id: string;
}

/** A token with its text, which nobody can show again. */
export interface IssuedToken {
  readonly text: string;
  readonly kept: KeptToken;
}

export interface TokenWish {
  readonly userId: UserId;
  readonly role: Role;
  readonly name: string | null;
  /** How long it is good; null does not expire. */
  readonly lifeMs: number | null;
}

/** The tokens of tenants: made, listed, rotated, revoked, and forgotten. */
export class Tokens {
  readonly #store: SessionStore;
  readonly #members: Members;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: SessionStore, members: Members, clock: Pick<Clock, "nowMs">) {
    this.#store = store;
    this.#members = members;
    this.#clock = clock;
  }

  /** All of them, also those that are over, the newest first. */
  async list(tenantId: TenantId): Promise<Result<readonly KeptToken[]>> {
    const documents = await this.#documents(tenantId);
    if (!documents.ok) return documents;
    const tokens = documents.value.flatMap(({ key: id, value }) => {
      const record = readTokenRecord(value);
      return record === null ? [] : [{ ...record, id }];
    });
    return ok(tokens.toSorted((a, b) => b.createdAtMs - a.createdAtMs));
  }

  /** For a member, and never more than that one is. */
  create(tenantId: TenantId, wish: TokenWish, by: Steward): Promise<Result<IssuedToken>> {
    return inTurn(this.#store, tenantId, (change) => this.#create(tenantId, wish, by, change));
  }

  async #create(
    tenantId: TenantId,
    wish: TokenWish,
    by: Steward,
    change: ChangeInTurn,
  ): Promise<Result<IssuedToken>> {
    const { userId, role, name, lifeMs } = wish;
    const member = await this.#members.find(tenantId, userId);
    if (!member.ok) return member;
    if (member.value === null) return fail("member_not_found", { userId });
    if (!isAtLeast(member.value.role, role)) {
      return fail("token_role_exceeded", { userId, role: member.value.role });
    }
    const room = await this.#makeRoom(tenantId);
    if (!room.ok) return room;
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
   * Whoever writes from beside the server may do it just when the tenant is deleted: then the token
   * would be all that there is of a new one. So it stays only if its member is still there, and
   * else the audit, which was told that it was made, is told that it is no more.
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
    const told = changeEntry({ act: "token_revoked", by, details, atMs });
    const forgotten = await this.#forget(tenantId, new Set([tokenId]), [told]);
    return forgotten.ok ? fail("member_not_found", { userId }) : forgotten;
  }

  /** Nobody comes in by it any more, from now on. */
  async revoke(tenantId: TenantId, id: string, by: Steward): Promise<Result<void>> {
    const nowMs = this.#clock.nowMs();
    return this.#change(tenantId, id, "token_revoked", by, (record) => {
      return { value: { ...record, revokedAtMs: nowMs }, outcome: undefined };
    });
  }

  /** A new secret under the same id. The old one dies at once, or lives on for so long. */
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

  /** Forgets all that were this user's. */
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
    const place = { tenantId, kind: TOKEN_KIND, key: tokenId };
    return changeDocument(this.#store, place, (before) => {
      const record = before === null ? null : readTokenRecord(before);
      if (record === null || !isInUse(record, nowMs)) return fail("token_not_found", { tokenId });
      const { userId, role } = record;
      const details = { tokenId, userId, role };
      return ok({ ...change(record), entry: changeEntry({ act, by, details, atMs: nowMs }) });
    });
  }

  /** Those that are over are forgotten when a new one wants their place. */
  async #makeRoom(tenantId: TenantId): Promise<Result<void>> {
    const tokens = await this.list(tenantId);
    if (!tokens.ok || tokens.value.length < TOKENS_MAX) return tokens.ok ? DONE : tokens;
    const nowMs = this.#clock.nowMs();
    const over = tokens.value.filter((token) => !isInUse(token, nowMs));
    if (over.length === 0) return fail("token_limit_exceeded", { limit: TOKENS_MAX });
    return this.#forget(tenantId, new Set(over.map(({ id }) => id)));
  }

  /** One that somebody changes at the same time is no longer what it was, and stays. */
  async #forget(
    tenantId: TenantId,
    ids: ReadonlySet<string>,
    entries: readonly JournalEntry[] = [],
  ): Promise<Result<void>> {
    const documents = await this.#documents(tenantId);
    if (!documents.ok) return documents;
    for (const { kind, key, version } of documents.value) {
      if (!ids.has(key)) continue;
      const gone = { kind, key, expectedVersion: version, value: null, entries };
      const written = await this.#store.writeDocument(tenantId, gone);
      if (!written.ok && written.refusal.code !== "document_conflict") return written;
    }
    return DONE;
  }

  async #documents(tenantId: TenantId): Promise<Result<readonly Document[]>> {
    const documents: Document[] = [];
    for (let after: string | null = null; ; ) {
      const page = await this.#store.listDocuments(tenantId, TOKEN_KIND, after);
      if (!page.ok) return page;
      documents.push(...page.value.rows);
      after = documents.at(-1)?.key ?? null;
      if (!page.value.more || after === null) return ok(documents);
    }
  }
}

const moment = z.number().nullable();

const record = z.object({
  userId: userField,
  role: roleField,
  name: z.string().nullable(),
  /** The member's own, when it was made: it ends with that. */
  membership: z.string(),
  hash: z.string(),
  /** The secret before the last rotation, as long as it is still good. */
  formerHash: z.string().nullable(),
  formerUntilMs: moment,
  createdAtMs: z.number(),
  expiresAtMs: moment,
  lastUsedAtMs: moment,
  revokedAtMs: moment,
});

/** What is kept of a token: everything but its secret. */
export type TokenRecord = z.output<typeof record>;

/** The kind of the documents in which tokens are kept, each under its id. */
export const TOKEN_KIND = "token";

/** Null is no token that we wrote: nobody comes in by it. */
export function readTokenRecord(value: JsonObject): TokenRecord | null {
  return record.safeParse(value).data ?? null;
}

/** Neither revoked nor expired. */
export function isInUse({ revokedAtMs, expiresAtMs }: TokenRecord, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs);
}

/** Whether the secret opens it: its own, or for a while the one before. */
export function isOpenedBy(token: TokenRecord, secret: string, nowMs: number): boolean {
  const { hash, formerHash, formerUntilMs } = token;
  const isOwn = isSecretOf(secret, hash);
  const isFormer = isSecretOf(secret, formerHash);
  if (isOwn || !isFormer || formerUntilMs === null) return isOwn;
  // Whatever becomes of the clock, it never has longer than it could have been given.
  const leftMs = formerUntilMs - nowMs;
  return leftMs > 0 && leftMs <= TOKEN_GRACE_MS_MAX;
}

/** What a presented token says: whose it is, which one, and what only its holder knows. */
export interface Credential {
  readonly tenantId: TenantId;
  readonly tokenId: string;
  readonly secret: string;
}

/** The last two parts have no underscore in them, so a tenant's name may. */
const SHAPE = /^fmt_(.{1,128})_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** As it is shown to its holder, once. */
export function credentialText({ tenantId, tokenId, secret }: Credential): string {
  return `fmt_${tenantId}_${tokenId}_${secret}`;
}

/** Null is no token of ours. */
export function parseCredential(text: string): Credential | null {
  const [, tenant = "", tokenId = "", secret = ""] = SHAPE.exec(text) ?? [];
  const tenantId = parseTenantId(tenant);
  return tenantId === null ? null : { tenantId, tokenId, secret };
}

export function freshTokenId(): string {
  return randomBytes(8).toString("hex");
}

/** As much as SHA-256 can tell apart: nobody guesses it, so the hash needs no salt. */
export function freshSecret(): string {
  return randomBytes(32).toString("hex");
}

function isTokenId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** What is kept of a secret. */
export function hashOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Takes as long for a wrong secret as for the right one. */
export function isSecretOf(secret: string, hash: string | null): boolean {
  const given = Buffer.from(hashOfSecret(secret));
  const expected = Buffer.from(hash ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
