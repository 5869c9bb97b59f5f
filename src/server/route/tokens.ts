import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, empty, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { Members } from "../identity/members.ts";
import { roleField, stewardOf, userField } from "../identity/request.ts";
import { type IssuedToken, type KeptToken, Tokens } from "../identity/tokens.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const tokenBody = z.object({
  /** The caller themselves, where nobody is named. */
  user: userField.optional(),
  role: roleField,
  name: z
    .string()
    .trim()
    .min(1)
    .max(TOKEN_NAME_CHARS_MAX)
    .regex(/^\P{Cc}*$/u, "it has control characters in it")
    .nullish(),
  expiresInMs: z.int().min(1).max(TOKEN_LIFE_MS_MAX).nullish(),
});

const rotateBody = z.object({ graceMs: z.int().min(0).max(TOKEN_GRACE_MS_MAX).default(0) });

/** The tokens of the caller's tenant (ours). A token's text is in the answer that made it only. */
export function tokensRoutes({ world: { store, clock } }: Daemon): readonly Route[] {
  const tokens = new Tokens(store, new Members(store, clock), clock);
  return [listRoute(tokens), createRoute(tokens), revokeRoute(tokens), rotateRoute(tokens)];
}

function listRoute(tokens: Tokens): Route {
  return route({
    method: "GET",
    path: "/tokens",
    gate: "caller",
    needs: "tokens:read",
    clientId: "ignored",
    body: "json",
    async handle({ caller }) {
      return answerTo(await tokens.list(caller.tenantId), (all) => {
        return json(200, { tokens: all.map(tokenEntry) });
      });
    },
  });
}

function createRoute(tokens: Tokens): Route {
  return route({
    method: "POST",
    path: "/tokens",
    gate: "strict",
    needs: "tokens:write",
    clientId: "ignored",
    body: "json",
    async handle({ caller, body }) {
      const wanted = readBody(tokenBody, body);
      if (!wanted.ok) return refused(wanted.refusal);
      const { user, role, name = null, expiresInMs = null } = wanted.value;
      const userId = user ?? caller.userId;
      if (userId === null) {
        const reason = "The body is not valid at user: whose token is it to be?";
        return refused(refusal("invalid_request", { reason, path: "user" }));
      }
      const wish = { userId, role, name, lifeMs: expiresInMs };
      return answerTo(await tokens.create(caller.tenantId, wish, stewardOf(caller)), issued);
    },
  });
}

function revokeRoute(tokens: Tokens): Route {
  return route({
    method: "DELETE",
    path: "/tokens/:id",
    gate: "strict",
    needs: "tokens:write",
    clientId: "ignored",
    body: "json",
    async handle({ caller, params }) {
      const revoked = await tokens.revoke(caller.tenantId, params.id, stewardOf(caller));
      return answerTo(revoked, () => empty());
    },
  });
}

function rotateRoute(tokens: Tokens): Route {
  return route({
    method: "POST",
    path: "/tokens/:id/rotate",
    gate: "strict",
    needs: "tokens:write",
    clientId: "ignored",
    body: "json",
    async handle({ caller, params, body }) {
      const wanted = readBody(rotateBody, body);
      if (!wanted.ok) return refused(wanted.refusal);
      const { graceMs } = wanted.value;
      const by = stewardOf(caller);
      return answerTo(await tokens.rotate(caller.tenantId, params.id, graceMs, by), issued);
    },
  });
}

function issued({ text, kept }: IssuedToken) {
  return json(200, { ...tokenEntry(kept), token: text });
}

/** A token as it is listed: without anything of its secret. */
function tokenEntry(token: KeptToken) {
  const { id, name, userId, role } = token;
  return {
    id,
    name,
    user: userId,
    role,
    createdAt: momentOf(token.createdAtMs),
    expiresAt: momentOf(token.expiresAtMs),
    lastUsedAt: momentOf(token.lastUsedAtMs),
    revokedAt: momentOf(token.revokedAtMs),
  };
}

function momentOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
