import { randomBytes } from "node:crypto";
import { z } from "zod";
import { parseTenantId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { INVITATION_LIFE_MS, INVITATIONS_MAX } from "../../core/limits.ts";
import { isAtLeast, isPermitted, type Role } from "../../core/permission.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { changeEntry, type Steward, type TenantGate } from "../../session/index.ts";
import { roleField, userField } from "../http/request-schema.ts";
import type { Granting, Members } from "./members.ts";
import {
  allDocuments,
  changeDocument,
  deleteDocuments,
  type TenantStore,
} from "./tenant-document.ts";
import { hashOfSecret, type IssuedToken, isSecretOf, type Tokens } from "./tokens.ts";

const record = z.object({
  userId: userField,
  role: roleField,
  hash: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  /** Who invited; null for the operator, and for a caller that is no user. */
  invitedBy: userField.nullable(),
  /** Their membership then: an invitation ends with it. Null if they are no stored member. */
  membership: z.string().nullable(),
  redeemedAtMs: z.number().nullable(),
  revokedAtMs: z.number().nullable(),
});

/** An invitation as stored: everything but its code. */
type InvitationRecord = z.output<typeof record>;

export interface Invitation extends InvitationRecord {
  readonly id: string;
}

/** An invitation with its code, which cannot be shown again. */
export interface IssuedInvitation {
  readonly code: string;
  readonly kept: Invitation;
}

/** A new member, and their first token. */
export interface NewMember extends IssuedToken {
  readonly tenantId: TenantId;
}

export interface InvitationRequest {
  readonly userId: UserId;
  readonly role: Role;
  /** Null is as long as an invitation usually lives. */
  readonly lifeMs: number | null;
}

const KIND = "invitation";

/**
 * Invitations of new members. The caller that sends the code of one becomes that member, once. A
 * code is random and short-lived, and is kept as a hash only.
 */
export class Invitations {
  readonly #store: TenantStore;
  readonly #members: Members;
  readonly #tokens: Tokens;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: TenantStore, members: Members, tokens: Tokens, clock: Pick<Clock, "nowMs">) {
    this.#store = store;
    this.#members = members;
    this.#tokens = tokens;
    this.#clock = clock;
  }

  /** All that are remembered, also those that have ended, newest first. */
  async list(tenantId: TenantId): Promise<Result<readonly Invitation[]>> {
    const documents = await allDocuments(this.#store, tenantId, KIND);
    if (!documents.ok) return documents;
    const all = documents.value.flatMap(({ key: id, value }) => {
      const read = readRecord(value);
      return read === null ? [] : [{ ...read, id }];
    });
    return ok(all.toSorted((a, b) => b.createdAtMs - a.createdAtMs));
  }

  /**
   * Invites a user who is no member, with at most the role of the one who invites. A member cannot
   * be invited: their second token would let the one who redeems it act as them.
   */
  async create(
    tenantId: TenantId,
    { userId, role, lifeMs }: InvitationRequest,
    by: Granting,
  ): Promise<Result<IssuedInvitation>> {
    if (!isAtLeast(by.role, role)) return fail("role_required", { roles: "owners" });
    const invitedBy = by.steward.kind === "client" ? by.steward.userId : null;
    const members = await this.#members.list(tenantId);
    if (!members.ok) return members;
    const known = members.value.find((one) => one.userId === userId);
    if (known !== undefined) return fail("member_exists", { userId });
    const capacity = await this.#ensureCapacity(tenantId);
    if (!capacity.ok) return capacity;
    const inviter = members.value.find((one) => one.userId === invitedBy);
    const createdAtMs = this.#clock.nowMs();
    const id = randomBytes(4).toString("hex");
    const secret = freshCode();
    const made: InvitationRecord = {
      userId,
      role,
      hash: hashOfSecret(secret),
      createdAtMs,
      expiresAtMs: createdAtMs + (lifeMs ?? INVITATION_LIFE_MS),
      invitedBy,
      membership: inviter?.membership ?? null,
      redeemedAtMs: null,
      revokedAtMs: null,
    };
    const details = { invitationId: id, userId, role, expiresAtMs: made.expiresAtMs };
    const entry = changeEntry({
      act: "invitation_created",
      by: by.steward,
      details,
      atMs: createdAtMs,
    });
    return changeDocument(this.#store, { tenantId, kind: KIND, key: id }, (before) => {
      if (before !== null) return fail("server_busy");
      const outcome = { code: codeText(tenantId, id, secret), kept: { ...made, id } };
      return ok({ value: made, entry, outcome });
    });
  }

  /** Revokes an open invitation, with at most the role of the one who revokes. */
  revoke(tenantId: TenantId, id: string, by: Granting): Promise<Result<void>> {
    const atMs = this.#clock.nowMs();
    return changeDocument(this.#store, { tenantId, kind: KIND, key: id }, (before) => {
      const found = before === null ? null : readRecord(before);
      if (found === null || !isOpen(found, atMs)) return fail("invitation_not_found");
      if (!isAtLeast(by.role, found.role)) return fail("role_required", { roles: "owners" });
      const { userId, role } = found;
      const details = { invitationId: id, userId, role };
      const entry = changeEntry({ act: "invitation_revoked", by: by.steward, details, atMs });
      return ok({ value: { ...found, revokedAtMs: atMs }, entry, outcome: undefined });
    });
  }

  /**
   * Makes the user of a code a member, and gives them their first token. The code is used up
   * first, in one write, so that of two callers at once one gets in. Every code that does not work
   * is refused alike.
   */
  async redeem(code: string, tenants: Pick<TenantGate, "admit">): Promise<Result<NewMember>> {
    const { tenantId, id, secret } = parseCode(code) ?? NO_CODE;
    const atMs = this.#clock.nowMs();
    const found = tenantId === null ? ok(null) : await this.#find(tenantId, id);
    if (!found.ok) return found;
    const isRight = isSecretOf(secret, found.value?.hash ?? null);
    if (tenantId === null || found.value === null || !isRight) return fail("invitation_not_found");
    if (!isOpen(found.value, atMs)) return fail("invitation_not_found");
    const invitation = { ...found.value, id };
    const joining = tenants.admit(tenantId, () => this.#join(tenantId, invitation, atMs));
    return joining ?? fail("invitation_not_found");
  }

  async #join(
    tenantId: TenantId,
    invitation: Invitation,
    atMs: number,
  ): Promise<Result<NewMember>> {
    const stands = await this.#stands(tenantId, invitation);
    if (!stands.ok) return stands;
    if (!stands.value) return fail("invitation_not_found");
    const { id, userId, role } = invitation;
    const steward: Steward = { kind: "client", userId };
    const used = await this.#use(tenantId, id, steward, atMs);
    if (!used.ok) return used;
    const added = await this.#members.add(tenantId, userId, role, steward);
    if (!added.ok) return added;
    const request = { userId, role, name: `invitation ${id}`, lifeMs: null };
    const token = await this.#tokens.create(tenantId, request, steward);
    return token.ok ? ok({ ...token.value, tenantId }) : token;
  }

  /** Whether the user is no member yet, and the one who invited may still invite to this role. */
  async #stands(tenantId: TenantId, invitation: InvitationRecord): Promise<Result<boolean>> {
    const members = await this.#members.list(tenantId);
    if (!members.ok) return members;
    if (members.value.some(({ userId }) => userId === invitation.userId)) return ok(false);
    const { membership, role } = invitation;
    if (membership === null) return ok(true);
    const inviter = members.value.find((one) => one.membership === membership);
    if (inviter === undefined || !isPermitted(inviter.role, "members:write")) return ok(false);
    return ok(isAtLeast(inviter.role, role));
  }

  #use(tenantId: TenantId, id: string, by: Steward, atMs: number): Promise<Result<void>> {
    return changeDocument(this.#store, { tenantId, kind: KIND, key: id }, (before) => {
      const found = before === null ? null : readRecord(before);
      if (found === null || !isOpen(found, atMs)) return fail("invitation_not_found");
      const { userId, role, invitedBy } = found;
      const details = { invitationId: id, userId, role, invitedBy };
      const entry = changeEntry({ act: "invitation_redeemed", by, details, atMs });
      return ok({ value: { ...found, redeemedAtMs: atMs }, entry, outcome: undefined });
    });
  }

  async #find(tenantId: TenantId, id: string): Promise<Result<InvitationRecord | null>> {
    const found = await this.#store.readDocument(tenantId, KIND, id);
    return found.ok ? ok(found.value && readRecord(found.value.value)) : found;
  }

  /** Forgets ended invitations when the limit is reached. */
  async #ensureCapacity(tenantId: TenantId): Promise<Result<void>> {
    const documents = await allDocuments(this.#store, tenantId, KIND);
    if (!documents.ok) return documents;
    if (documents.value.length < INVITATIONS_MAX) return DONE;
    const nowMs = this.#clock.nowMs();
    const ended = documents.value.filter(({ value }) => {
      const read = readRecord(value);
      return read === null || !isOpen(read, nowMs);
    });
    if (ended.length === 0) return fail("invitation_limit_exceeded", { limit: INVITATIONS_MAX });
    return deleteDocuments(this.#store, tenantId, ended);
  }
}

/** Null if the server did not write it; such an invitation is invalid. */
function readRecord(value: JsonObject): InvitationRecord | null {
  return record.safeParse(value).data ?? null;
}

/** What has become of it. */
export function stateOf(invitation: InvitationRecord, nowMs: number) {
  if (invitation.redeemedAtMs !== null) return "redeemed";
  if (invitation.revokedAtMs !== null) return "revoked";
  return isOpen(invitation, nowMs) ? "open" : "expired";
}

/** A clock that is set back to before the invitation must not prolong it. */
function isOpen(invitation: InvitationRecord, nowMs: number): boolean {
  const { redeemedAtMs, revokedAtMs, createdAtMs, expiresAtMs } = invitation;
  if (redeemedAtMs !== null || revokedAtMs !== null) return false;
  return nowMs >= createdAtMs && nowMs < expiresAtMs;
}

/** Letters and digits that are not taken for each other; 20 of 32 have 100 random bits. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const CODE_CHARS = 20;

function freshCode(): string {
  return [...randomBytes(CODE_CHARS)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** The last two parts contain no underscore, so a tenant's name may. */
const SHAPE = /^fmi_(.{1,128})_([0-9a-f]{8})_([0-9a-hjkmnp-tv-z]{20})$/;

/** The text that is sent to the one who is invited. */
function codeText(tenantId: TenantId, id: string, secret: string): string {
  return `fmi_${tenantId}_${id}_${secret}`;
}

interface Code {
  readonly tenantId: TenantId | null;
  readonly id: string;
  readonly secret: string;
}

/** Stands for a text that is no code, which takes as long to refuse as a wrong one. */
const NO_CODE: Code = { tenantId: null, id: "", secret: "" };

function parseCode(text: string): Code | null {
  const [, tenant = "", id = "", secret = ""] = SHAPE.exec(text) ?? [];
  const tenantId = parseTenantId(tenant);
  return tenantId === null ? null : { tenantId, id, secret };
}
