import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { parseUserId } from "../../core/id.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import type { Member } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, empty, json, refused } from "../http/answer.ts";
import { readBody, roleField, stewardOf, userField } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { Members } from "../identity/members.ts";
import { type IssuedToken, type KeptToken, Tokens } from "../identity/tokens.ts";
import { ABOUT_MEMBERS } from "./about/members.ts";

const memberBody = z.object({ role: roleField });

/** Members of the caller's tenant and their roles. Ours. */
export function membersRoutes({ store, clock }: Daemon): readonly Route[] {
  const members = new Members(store, clock);
  const tokens = new Tokens(store, members, clock);
  return [
    route({
      method: "GET",
      path: "/members",
      about: ABOUT_MEMBERS.list,
      needs: "members:read",
      async handle({ caller }) {
        return answerTo(await members.list(caller.tenantId), (all) => {
          return json(200, { members: all.map(memberEntry) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/members/:user",
      about: ABOUT_MEMBERS.put,
      gate: "strict",
      needs: "members:write",
      fields: memberBody,
      async handle({ caller, params, body }) {
        const wanted = readBody(memberBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const userId = parseUserId(params.user);
        if (userId === null) {
          const reason = "A user id has letters, digits and . _ : -";
          return refused(refusal("invalid_request", { reason, path: "user" }));
        }
        const by = { steward: stewardOf(caller), role: caller.role };
        const put = await members.put(caller.tenantId, userId, wanted.value.role, by);
        return answerTo(put, (member) => json(200, memberEntry(member)));
      },
    }),
    // Removes a member. Their tokens are invalid from that moment; then they are deleted.
    route({
      method: "DELETE",
      path: "/members/:user",
      about: ABOUT_MEMBERS.remove,
      gate: "strict",
      needs: "members:delete",
      async handle({ caller, params }) {
        const { tenantId } = caller;
        const userId = parseUserId(params.user);
        if (userId === null) return refused(refusal("member_not_found", { userId: params.user }));
        const removed = await members.remove(tenantId, userId, stewardOf(caller));
        if (!removed.ok) return refused(removed.refusal);
        return answerTo(await tokens.removeOf(tenantId, userId), () => empty());
      },
    }),
  ];
}

function memberEntry({ userId, role, addedAtMs }: Member) {
  return { user: userId, role, addedAt: new Date(addedAtMs).toISOString() };
}

const tokenBody = z.object({
  /** The caller by default. */
  user: userField.optional(),
  role: roleField,
  name: z
    .string()
    .trim()
    .min(1)
    .max(TOKEN_NAME_CHARS_MAX)
    .regex(/^\P{Cc}*$/u, "it contains control characters")
    .nullish(),
  expiresInMs: z.int().min(1).max(TOKEN_LIFE_MS_MAX).nullish(),
});

const rotateBody = z.object({ graceMs: z.int().min(0).max(TOKEN_GRACE_MS_MAX).default(0) });

/** Tokens of the caller's tenant (ours). Only the answer that creates a token contains its text. */
export function tokensRoutes({ store, clock }: Daemon): readonly Route[] {
  const tokens = new Tokens(store, new Members(store, clock), clock);
  return [
    route({
      method: "GET",
      path: "/tokens",
      about: ABOUT_MEMBERS.tokens,
      needs: "tokens:read",
      async handle({ caller }) {
        return answerTo(await tokens.list(caller.tenantId), (all) => {
          return json(200, { tokens: all.map(tokenEntry) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/tokens",
      about: ABOUT_MEMBERS.issue,
      gate: "strict",
      needs: "tokens:write",
      fields: tokenBody,
      async handle({ caller, body }) {
        const wanted = readBody(tokenBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { user, role, name = null, expiresInMs = null } = wanted.value;
        const userId = user ?? caller.userId;
        if (userId === null) {
          const reason = "The body is not valid at user: name the user of the token";
          return refused(refusal("invalid_request", { reason, path: "user" }));
        }
        const wantedToken = { userId, role, name, lifeMs: expiresInMs };
        return answerTo(
          await tokens.create(caller.tenantId, wantedToken, stewardOf(caller)),
          issued,
        );
      },
    }),
    route({
      method: "DELETE",
      path: "/tokens/:id",
      about: ABOUT_MEMBERS.revoke,
      gate: "strict",
      needs: "tokens:write",
      async handle({ caller, params }) {
        const revoked = await tokens.revoke(caller.tenantId, params.id, stewardOf(caller));
        return answerTo(revoked, () => empty());
      },
    }),
    route({
      method: "POST",
      path: "/tokens/:id/rotate",
      about: ABOUT_MEMBERS.rotate,
      gate: "strict",
      needs: "tokens:write",
      fields: rotateBody,
      async handle({ caller, params, body }) {
        const wanted = readBody(rotateBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { graceMs } = wanted.value;
        const by = stewardOf(caller);
        return answerTo(await tokens.rotate(caller.tenantId, params.id, graceMs, by), issued);
      },
    }),
  ];
}

function issued({ text, kept }: IssuedToken) {
  return json(200, { ...tokenEntry(kept), token: text });
}

/** A token as listed, without its secret. */
function tokenEntry(token: KeptToken) {
  const { id, name, userId, role } = token;
  return {
    id,
    name,
    user: userId,
    role,
    createdAt: isoTimeOf(token.createdAtMs),
    expiresAt: isoTimeOf(token.expiresAtMs),
    lastUsedAt: isoTimeOf(token.lastUsedAtMs),
    revokedAt: isoTimeOf(token.revokedAtMs),
  };
}

function isoTimeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
