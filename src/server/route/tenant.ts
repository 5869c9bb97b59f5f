import { z } from "zod";
import { refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { AUTONOMY_PROFILES } from "../../core/policy/risk.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { changeEntry, policyBody, policyOf, type Steward } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, empty, events, json, refused } from "../http/answer.ts";
import { readBody, stewardOf } from "../http/request-schema.ts";
import { type Caller, type Route, route } from "../http/route.ts";
import { changeDocument, type TenantStore } from "../identity/tenant-document.ts";
import { ABOUT_SERVER } from "./about/server.ts";
import { ABOUT_TENANT } from "./about/tenant.ts";

const tenantBody = z.object({
  settings: z.strictObject({ autonomy: z.enum(AUTONOMY_PROFILES) }),
});

/** The tenant's settings and the caller's role in it. Ours. */
export function tenantRoutes({ store, clock, sessions }: Daemon): readonly Route[] {
  const settings = new TenantSettings(store, clock);
  return [
    route({
      method: "GET",
      path: "/tenant",
      about: ABOUT_TENANT.get,
      needs: "session:read",
      async handle({ caller }) {
        return answerTo(await settings.of(caller.tenantId), (chosen) =>
          tenantAnswer(caller, chosen),
        );
      },
    }),
    route({
      method: "PATCH",
      path: "/tenant",
      about: ABOUT_TENANT.set,
      needs: "tenant:write",
      fields: tenantBody,
      async handle({ caller, body }) {
        const read = readBody(tenantBody, body);
        if (!read.ok) return refused(read.refusal);
        const { settings: wanted } = read.value;
        const forbidden = await sessions.policy.forbidsAutonomy(caller, wanted.autonomy);
        if (forbidden !== null) return refused(forbidden);
        const set = await settings.set(caller.tenantId, wanted, stewardOf(caller));
        return answerTo(set, (chosen) => tenantAnswer(caller, chosen));
      },
    }),
  ];
}

function tenantAnswer({ tenantId, role, userId: user }: Caller, settings: TenantChoices): Answer {
  return json(200, { v: 1, tenantId, role, user, settings });
}

const choices = z.object({ autonomy: z.enum(AUTONOMY_PROFILES) });

/** Defaults of the tenant's new sessions. */
export type TenantChoices = z.output<typeof choices>;

/** Every call is asked until an owner allows more. */
const CAREFUL: TenantChoices = { autonomy: "manual" };

const KIND = "settings";
const KEY = "all";

/** The tenant's settings, set by its owners. Existing sessions keep theirs (P7). */
export class TenantSettings {
  readonly #store: TenantStore;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: TenantStore, clock: Pick<Clock, "nowMs">) {
    this.#store = store;
    this.#clock = clock;
  }

  async of(tenantId: TenantId): Promise<Result<TenantChoices>> {
    const found = await this.#store.readDocument(tenantId, KIND, KEY);
    return found.ok ? ok(choicesIn(found.value?.value ?? null)) : found;
  }

  async set(
    tenantId: TenantId,
    wanted: TenantChoices,
    by: Steward,
  ): Promise<Result<TenantChoices>> {
    const atMs = this.#clock.nowMs();
    const address = { tenantId, kind: KIND, key: KEY };
    return changeDocument(this.#store, address, (before) => {
      const { autonomy: from } = choicesIn(before);
      const change = {
        act: "tenant_settings_set",
        by,
        details: { ...wanted, from },
        atMs,
      } as const;
      const entry = from === wanted.autonomy ? null : changeEntry(change);
      return ok({ value: wanted, entry, outcome: wanted });
    });
  }
}

/** An unreadable document allows nothing, and the next change replaces it. */
function choicesIn(value: JsonObject | null): TenantChoices {
  const read = choices.safeParse(value);
  return read.success ? read.data : CAREFUL;
}

/** Which tenant is to be deleted. Any other body is answered with what to send. */
const removalBody = z.object({ confirm: z.string() });

/** Deletes the caller's tenant and all its data, if the body confirms which tenant. Ours. */
export function tenantRemovalRoute(daemon: Daemon): Route {
  const { sessions, tenants } = daemon;
  return route({
    method: "DELETE",
    path: "/tenant",
    about: ABOUT_TENANT.remove,
    content: removalBody,
    needs: "tenant:write",
    deletesTenant: true,
    async handle({ caller, body }) {
      const { tenantId } = caller;
      const read = readBody(removalBody, body);
      if (!read.ok || read.value.confirm !== tenantId) return unconfirmed(tenantId);
      const ending = tenants.endingOf(tenantId);
      const free = await daemon.checkNoForeignHolders(tenantId);
      if (!free.ok) return refused(free.refusal);
      // A new tenant may have taken the name by now, which the caller does not mean.
      if (ending.aborted) return refused(refusal("tenant_deleting"));
      return answerTo(await sessions.removeTenant(caller), () => empty());
    },
  });
}

/** Deletion cannot be undone, so the caller must name the tenant. */
function unconfirmed(tenantId: TenantId): Answer {
  const wanted = JSON.stringify({ confirm: tenantId });
  const reason = `To delete this tenant with everything in it, send the body ${wanted}.`;
  return refused(refusal("invalid_request", { reason, path: "confirm" }));
}

/** Streams all sessions of the tenant, and then each change. Ours. */
export function tenantEventsRoute({ sessions }: Daemon): Route {
  return route({
    method: "GET",
    path: "/events",
    about: ABOUT_SERVER.tenantEvents,
    needs: "session:read",
    rate: "exempt",
    async handle({ caller }) {
      return answerTo(sessions.watch(caller), (source) => events(source, null));
    },
  });
}

/** `version` is the one that the caller has read: two owners may change it at once. */
const newPolicy = z.strictObject({ version: z.int().min(0), policy: policyBody });

/** What the owners of the caller's tenant allow its users. Ours. */
export function policyRoutes({ sessions }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/tenant/policy",
      about: ABOUT_TENANT.policy,
      needs: "session:read",
      async handle({ caller }) {
        return answerTo(await sessions.policy.view(caller), policyAnswer);
      },
    }),
    route({
      method: "PUT",
      path: "/tenant/policy",
      about: ABOUT_TENANT.setPolicy,
      gate: "strict",
      needs: "tenant:write",
      fields: newPolicy,
      async handle({ caller, body }) {
        const read = readBody(newPolicy, body);
        if (!read.ok) return refused(read.refusal);
        const { version, policy } = read.value;
        const set = await sessions.policy.set(caller, { version, policy: policyOf(policy) });
        return answerTo(set, policyAnswer);
      },
    }),
  ];
}

function policyAnswer(view: object): Answer {
  const body: JsonObject = { v: 1, ...view };
  return json(200, body);
}
