import { z } from "zod";
import { AUTONOMY_PROFILES } from "../../core/policy/risk.ts";
import { type Answer, answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { stewardOf } from "../identity/request.ts";
import { readBody } from "../request-schema.ts";
import { type Caller, type Route, route } from "../route.ts";
import { type TenantChoices, TenantSettings } from "../tenant-settings.ts";

const tenantBody = z.object({
  settings: z.strictObject({ autonomy: z.enum(AUTONOMY_PROFILES) }),
});

/** What the caller's tenant is set to, and what they are in it (ours). */
export function tenantRoutes({ world: { store, clock } }: Daemon): readonly Route[] {
  const settings = new TenantSettings(store, clock);
  return [
    route({
      method: "GET",
      path: "/tenant",
      gate: "caller",
      needs: "session:read",
      clientId: "ignored",
      body: "json",
      async handle({ caller }) {
        return answerTo(await settings.of(caller.tenantId), (chosen) => told(caller, chosen));
      },
    }),
    route({
      method: "PATCH",
      path: "/tenant",
      gate: "caller",
      needs: "tenant:write",
      clientId: "ignored",
      body: "json",
      async handle({ caller, body }) {
        const read = readBody(tenantBody, body);
        if (!read.ok) return refused(read.refusal);
        const { settings: wanted } = read.value;
        const set = await settings.set(caller.tenantId, wanted, stewardOf(caller));
        return answerTo(set, (chosen) => told(caller, chosen));
      },
    }),
  ];
}

function told({ tenantId, role, userId: user }: Caller, settings: TenantChoices): Answer {
  return json(200, { v: 1, tenantId, role, user, settings });
}
