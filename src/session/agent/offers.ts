import type { AgentOffer } from "../../agent/agent.ts";
import type { AgentUpdate } from "../../core/agent-update.ts";
import type { TenantId } from "../../core/id.ts";
import { isObject, stringAt } from "../../core/json.ts";
import { AGENT_OFFER_BYTES_MAX } from "../../core/limits.ts";
import type { SessionStore } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { objectsIn } from "./agent-modes.ts";

/** What a client is shown of an agent's offer: its modes, models and options. */
export type ShownOffer = Pick<AgentOffer, "modes" | "models" | "configOptions">;

export const NO_OFFER: ShownOffer = { modes: null, models: null, configOptions: [] };

/**
 * Keeps what an agent offers, for clients that come when there is no agent. It is a blob, as
 * skills are: most sessions of an agent have the same one, and none holds it in memory.
 */
export class OfferKeeper {
  readonly #world: Pick<SessionWorld, "store" | "redact">;
  readonly #tenantId: TenantId;
  #kept: ShownOffer = NO_OFFER;

  constructor(world: Pick<SessionWorld, "store" | "redact">, tenantId: TenantId) {
    this.#world = world;
    this.#tenantId = tenantId;
  }

  /** Whether nothing has changed since it was kept; agents' settings are values. */
  isKept({ modes, models = null, configOptions }: ShownOffer): boolean {
    const kept = this.#kept;
    const isSame = modes === kept.modes && models === kept.models;
    return isSame && configOptions === kept.configOptions;
  }

  /**
   * Answers the hash under which it is in the store by then, null for an empty one. Undefined if
   * it cannot be kept, or if a newer one is on its way.
   */
  async keep({
    modes,
    models = null,
    configOptions,
  }: ShownOffer): Promise<string | null | undefined> {
    const offer = { modes, models, configOptions };
    this.#kept = offer;
    if (isEmpty(offer)) return null;
    const text = this.#world.redact(JSON.stringify(offer));
    const bytes = new TextEncoder().encode(text);
    if (bytes.byteLength > AGENT_OFFER_BYTES_MAX) return undefined;
    const hash = await this.#world.store.writeBlob(this.#tenantId, bytes);
    return hash.ok && this.#kept === offer ? hash.value : undefined;
  }

  read(hash: string | null): Promise<ShownOffer> {
    return readOffer(this.#world.store, this.#tenantId, hash);
  }
}

function isEmpty({ modes, models = null, configOptions }: ShownOffer): boolean {
  return modes === null && models === null && configOptions.length === 0;
}

/** The offer of that hash; one that cannot be read is as good as none (P6). */
export async function readOffer(
  store: Pick<SessionStore, "readBlob">,
  tenantId: TenantId,
  hash: string | null,
): Promise<ShownOffer> {
  const bytes = hash === null ? null : await store.readBlob(tenantId, hash);
  return bytes?.ok ? parsed(new TextDecoder().decode(bytes.value)) : NO_OFFER;
}

function parsed(text: string): ShownOffer {
  try {
    const json: unknown = JSON.parse(text);
    if (!isObject(json)) return NO_OFFER;
    const { modes, models, configOptions } = json;
    return {
      modes: isObject(modes) ? modes : null,
      models: isObject(models) ? models : null,
      configOptions: objectsIn(configOptions),
    };
  } catch {
    return NO_OFFER;
  }
}

/** What an agent would have told if it had changed from one offer to the other by itself. */
export function offerNews(before: ShownOffer, now: ShownOffer): readonly AgentUpdate[] {
  const mode = now.modes && stringAt(now.modes, "currentModeId");
  const isSameMode = before.modes !== null && stringAt(before.modes, "currentModeId") === mode;
  const { configOptions } = now;
  const isSameOptions = JSON.stringify(before.configOptions) === JSON.stringify(configOptions);
  return [
    ...(mode === null || isSameMode
      ? []
      : [{ sessionUpdate: "current_mode_update", currentModeId: mode }]),
    ...(isSameOptions ? [] : [{ sessionUpdate: "config_option_update", configOptions }]),
  ];
}
