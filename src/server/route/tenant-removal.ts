import { refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { type Answer, answerTo, empty, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { freeOfOthers } from "../held-sessions.ts";
import { type Route, route } from "../route.ts";

/** Deletes the caller's tenant with everything in it, if they say which one they mean (ours). */
export function tenantRemovalRoute({ runtime, world }: Daemon): Route {
  const { store, holder, tenants } = world;
  return route({
    method: "DELETE",
    path: "/tenant",
    gate: "caller",
    needs: "tenant:write",
    clientId: "ignored",
    body: "json",
    deletesTenant: true,
    async handle({ caller: { tenantId, userId }, body }) {
      if (body.confirm !== tenantId) return unconfirmed(tenantId);
      const ending = tenants.endingOf(tenantId);
      const free = await freeOfOthers(store, tenantId, holder);
      if (!free.ok) return refused(free.refusal);
      // By now another may have the name, whom the caller does not know.
      if (ending.aborted) return refused(refusal("tenant_deleting"));
      const by = userId ?? "an owner without a name";
      return answerTo(await runtime.removeTenant(tenantId, by), () => empty());
    },
  });
}

/** It cannot be undone, so nobody does it by a slip of the hand, or to another than they think. */
function unconfirmed(tenantId: TenantId): Answer {
  const wanted = JSON.stringify({ confirm: tenantId });
  const reason = `To delete this tenant with everything in it, send the body ${wanted}.`;
  return refused(refusal("invalid_request", { reason, path: "confirm" }));
}
