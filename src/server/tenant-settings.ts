import { z } from "zod";
import type { TenantId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import { AUTONOMY_PROFILES } from "../core/policy/risk.ts";
import { ok, type Result } from "../core/result.ts";
import { changeEntry, type Steward } from "../session/audit/entries.ts";
import type { Clock } from "../session/world.ts";
import type { SessionStore } from "../store/store.ts";
import { changeDocument } from "./identity/tenant-document.ts";

const choices = z.object({ autonomy: z.enum(AUTONOMY_PROFILES) });

/** What a tenant's new sessions begin with, where nobody says otherwise. */
export type TenantChoices = z.output<typeof choices>;

/** Nothing happens unasked, as long as no owner has said that it may. */
const CAREFUL: TenantChoices = { autonomy: "manual" };

const KIND = "settings";
const KEY = "all";

/** What the owners of a tenant have chosen for it. Sessions that are there do not move (P7). */
export class TenantSettings {
  readonly #store: SessionStore;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: SessionStore, clock: Pick<Clock, "nowMs">) {
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
    const place = { tenantId, kind: KIND, key: KEY };
    return changeDocument(this.#store, place, (before) => {
      const { autonomy: from } = choicesIn(before);
      const told = { act: "tenant_settings_set", by, details: { ...wanted, from }, atMs } as const;
      const entry = from === wanted.autonomy ? null : changeEntry(told);
      return ok({ value: wanted, entry, outcome: wanted });
    });
  }
}

/** What cannot be read allows nothing, and the next change writes it anew. */
function choicesIn(value: JsonObject | null): TenantChoices {
  const read = choices.safeParse(value);
  return read.success ? read.data : CAREFUL;
}
