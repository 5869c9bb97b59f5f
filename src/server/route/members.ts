import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { parseUserId } from "../../core/id.ts";
import { answerTo, empty, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Member, Members } from "../identity/members.ts";
import { roleField, stewardOf } from "../identity/request.ts";
import { Tokens } from "../identity/tokens.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const memberBody = z.object({ role: roleField });

/** Who belongs to the caller's tenant, and what they are in it (ours). */
export function membersRoutes({ world: { store, clock } }: Daemon): readonly Route[] {
  const members = new Members(store, clock);
  const tokens = new Tokens(store, members, clock);
  return [listRoute(members), setRoute(members), removeRoute(members, tokens)];
}

function listRoute(members: Members): Route {
  return route({
    method: "GET",
    path: "/members",
    gate: "caller",
    needs: "members:read",
    clientId: "ignored",
    body: "json",
    async handle({ caller }) {
      return answerTo(await members.list(caller.tenantId), (all) => {
        return json(200, { members: all.map(memberEntry) });
      });
    },
  });
}

function setRoute(members: Members): Route {
  return route({
    method: "POST",
    path: "/members/:user",
    gate: "strict",
    needs: "members:write",
    clientId: "ignored",
    body: "json",
    async handle({ caller, params, body }) {
      const wanted = readBody(memberBody, body);
      if (!wanted.ok) return refused(wanted.refusal);
      const userId = parseUserId(params.user);
      if (userId === null) {
        const reason = "A user's id is of letters, digits and . _ : -";
        return refused(refusal("invalid_request", { reason, path: "user" }));
      }
      const by = { steward: stewardOf(caller), role: caller.role };
      const put = await members.put(caller.tenantId, userId, wanted.value.role, by);
      return answerTo(put, (member) => json(200, memberEntry(member)));
    },
  });
}

/** Their tokens are dead as soon as they are no member; then they are cleared away. */
function removeRoute(members: Members, tokens: Tokens): Route {
  return route({
    method: "DELETE",
    path: "/members/:user",
    gate: "strict",
    needs: "members:delete",
    clientId: "ignored",
    body: "json",
    async handle({ caller, params }) {
      const { tenantId } = caller;
      const userId = parseUserId(params.user);
      if (userId === null) return refused(refusal("member_not_found", { userId: params.user }));
      const removed = await members.remove(tenantId, userId, stewardOf(caller));
      if (!removed.ok) return refused(removed.refusal);
      return answerTo(await tokens.removeOf(tenantId, userId), () => empty());
    },
  });
}

function memberEntry({ userId, role, addedAtMs }: Member) {
  return { user: userId, role, addedAt: new Date(addedAtMs).toISOString() };
}
