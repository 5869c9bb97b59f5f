import { z } from "zod";
import { ROLES } from "../../../core/permission.ts";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { maybeText, maybeTime, text, time } from "./plain-shapes.ts";

const role = () => z.enum(ROLES);

const member = named("Member", () => z.object({ user: text(), role: role(), addedAt: time() }));

const tokenFields = () => ({
  id: text(),
  name: maybeText(),
  user: text(),
  role: role(),
  createdAt: maybeTime(),
  expiresAt: maybeTime(),
  lastUsedAt: maybeTime(),
  revokedAt: maybeTime(),
});

const token = named("Token", () => z.object(tokenFields()));
const issued = named("IssuedToken", () => z.object({ ...tokenFields(), token: text() }));

const invitationFields = () => ({
  id: text(),
  user: text(),
  role: role(),
  state: z.enum(["open", "redeemed", "revoked", "expired"]),
  invitedBy: maybeText(),
  createdAt: time(),
  expiresAt: time(),
});

const invitation = named("Invitation", () => z.object(invitationFields()));

export const ABOUT_MEMBERS = {
  list: () => ({
    task: "members",
    summary: "Lists the members of the caller's tenant.",
    answers: { 200: z.object({ members: z.array(member()) }) },
    example: {},
  }),
  put: () => ({
    task: "members",
    summary: "Adds a member, or changes their role. Only owners make or change owners.",
    answers: { 200: member() },
    refusals: ["last_owner", "member_limit_exceeded", "role_required"],
    example: { body: { role: "member" } },
  }),
  remove: () => ({
    task: "members",
    summary: "Removes a member, and revokes all their tokens.",
    answers: { 204: null },
    refusals: ["member_not_found", "last_owner"],
    example: {},
  }),
  invitations: () => ({
    task: "members",
    summary: "Lists the invitations, newest first.",
    answers: { 200: z.object({ invitations: z.array(invitation()) }) },
    example: {},
  }),
  invite: () => ({
    task: "members",
    summary: "Invites a user. The answer alone has the code, which works once.",
    answers: { 200: z.object({ ...invitationFields(), code: text() }) },
    refusals: ["member_exists", "invitation_limit_exceeded", "role_required"],
    example: { body: { user: "grace", role: "member" } },
  }),
  revokeInvitation: () => ({
    task: "members",
    summary: "Revokes an invitation: its code works no more.",
    answers: { 204: null },
    refusals: ["invitation_not_found", "role_required"],
    example: {},
  }),
  redeem: () => ({
    task: "members",
    summary: "Makes the invited user a member, with a token of their own. It needs no token.",
    answers: {
      200: z.object({
        tenant: text(),
        user: text(),
        role: role(),
        tokenId: text(),
        token: text(),
      }),
    },
    refusals: ["invitation_not_found", "too_many_attempts", "member_limit_exceeded"],
    example: { body: { code: "fermata-code" } },
  }),
  tokens: () => ({
    task: "members",
    summary: "Lists the tokens of the tenant, newest first, without their texts.",
    answers: { 200: z.object({ tokens: z.array(token()) }) },
    example: {},
  }),
  issue: () => ({
    task: "members",
    summary: "Makes a token. The answer alone has its text.",
    answers: { 200: issued() },
    refusals: ["member_not_found", "token_role_exceeded", "token_limit_exceeded"],
    example: { body: { role: "member", user: "ada", name: "laptop" } },
  }),
  revoke: () => ({
    task: "members",
    summary: "Revokes a token, which opens nothing from now on.",
    answers: { 204: null },
    refusals: ["token_not_found"],
    example: {},
  }),
  rotate: () => ({
    task: "members",
    summary: "Gives a token a new secret; the old one ends at once, or after graceMs.",
    answers: { 200: issued() },
    refusals: ["token_not_found"],
    example: { body: { graceMs: 60_000 } },
  }),
} satisfies Descriptions;
