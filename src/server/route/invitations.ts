import { z } from "zod";
import { refusal } from "../../core/error.ts";
import {
  INVITATION_CODE_CHARS_MAX,
  INVITATION_LIFE_MS_MAX,
  INVITATION_LIFE_MS_MIN,
} from "../../core/limits.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, empty, json, refused } from "../http/answer.ts";
import { readBody, roleField, stewardOf, userField } from "../http/request-schema.ts";
import { type Caller, type Route, route } from "../http/route.ts";
import { type Invitation, Invitations, stateOf } from "../identity/invitations.ts";
import { Members } from "../identity/members.ts";
import { Tokens } from "../identity/tokens.ts";
import { ABOUT_MEMBERS } from "./about/members.ts";

const invitationBody = z.object({
  user: userField,
  role: roleField,
  expiresInMs: z.int().min(INVITATION_LIFE_MS_MIN).max(INVITATION_LIFE_MS_MAX).nullish(),
});

const redemptionBody = z.object({ code: z.string().max(INVITATION_CODE_CHARS_MAX) });

/** Invitations to the caller's tenant, and their redemption, which needs no token. Ours. */
export function invitationsRoutes({ store, clock, tenants }: Daemon): readonly Route[] {
  const members = new Members(store, clock);
  const tokens = new Tokens(store, members, clock);
  const invitations = new Invitations(store, members, tokens, clock);
  const granting = (caller: Caller) => ({ steward: stewardOf(caller), role: caller.role });
  const entryOf = (invitation: Invitation) => invitationEntry(invitation, clock.nowMs());
  return [
    route({
      method: "GET",
      path: "/invitations",
      about: ABOUT_MEMBERS.invitations,
      needs: "members:read",
      async handle({ caller }) {
        return answerTo(await invitations.list(caller.tenantId), (all) => {
          return json(200, { invitations: all.map(entryOf) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/invitations",
      about: ABOUT_MEMBERS.invite,
      gate: "strict",
      needs: "members:write",
      fields: invitationBody,
      async handle({ caller, body }) {
        const wanted = readBody(invitationBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { user: userId, role, expiresInMs = null } = wanted.value;
        const request = { userId, role, lifeMs: expiresInMs };
        const made = await invitations.create(caller.tenantId, request, granting(caller));
        return answerTo(made, ({ code, kept }) => json(200, { ...entryOf(kept), code }));
      },
    }),
    route({
      method: "DELETE",
      path: "/invitations/:id",
      about: ABOUT_MEMBERS.revokeInvitation,
      gate: "strict",
      needs: "members:write",
      async handle({ caller, params }) {
        const revoked = await invitations.revoke(caller.tenantId, params.id, granting(caller));
        return answerTo(revoked, () => empty());
      },
    }),
    route({
      method: "POST",
      path: "/invitations/redemption",
      about: ABOUT_MEMBERS.redeem,
      content: redemptionBody,
      gate: "open",
      needs: null,
      takesCode: true,
      async handle({ body }) {
        const wanted = readBody(redemptionBody, body);
        if (!wanted.ok) return refused(refusal("invitation_not_found"));
        const joined = await invitations.redeem(wanted.value.code, tenants);
        // Callers that were authenticated before are to see the new member.
        if (joined.ok) tenants.changed();
        return answerTo(joined, ({ tenantId, text, kept: { id, userId, role } }) => {
          return json(200, { tenant: tenantId, user: userId, role, tokenId: id, token: text });
        });
      },
    }),
  ];
}

function invitationEntry(invitation: Invitation, nowMs: number) {
  const { id, userId, role, invitedBy, createdAtMs, expiresAtMs } = invitation;
  return {
    id,
    user: userId,
    role,
    state: stateOf(invitation, nowMs),
    invitedBy,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: new Date(expiresAtMs).toISOString(),
  };
}
