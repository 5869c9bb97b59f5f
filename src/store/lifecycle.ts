import type { Refusal } from "../core/error.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { type LifePhase, PHASE_REASONS, phaseAfter } from "../platform/life.ts";
import { CONTRACT_VERSION, checkStore } from "./compatibility.ts";
import type { SessionStore, StoreContract, StoreHost } from "./store.ts";

export interface Candidate {
  readonly store: SessionStore;
  readonly config: unknown;
}

/**
 * Brings up the stores that are loaded and makes exactly one of them the session store. The active
 * one must start, and nothing takes its place if it does not; another one that fails is only
 * reported. A store that is not for this version of Fermata is not started. Stores that were
 * started are ended again if the active one does not come up.
 */
export async function activateStore(
  candidates: readonly Candidate[],
  host: StoreHost,
  warn: (storeId: string, why: Refusal) => void,
  coreVersion: string,
): Promise<Result<SessionStore>> {
  const enabled = candidates.filter(({ config }) => !isObject(config) || config.enabled !== false);
  const chosen = choose(enabled);
  if (!chosen.ok) return chosen;
  for (const { store, config } of enabled) {
    const fits = checkStore(store, coreVersion);
    const started = fits.ok ? await answerOf(() => store.init(host, config)) : fits;
    if (started.ok) continue;
    await end(store);
    if (store !== chosen.value) warn(store.contract.storeId, started.refusal);
    else return endAll(enabled, started);
  }
  const activated = await answerOf(() => chosen.value.activate());
  return activated.ok ? chosen : endAll(enabled, activated);
}

/** Every manifest names its store, so a name must mean one store, also while it is inactive. */
function choose(enabled: readonly Candidate[]): Result<SessionStore> {
  const names = enabled.map(({ store }) => store.contract.storeId);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    const reason = `two loaded stores are called "${twice}"`;
    return fail("invalid_store_config", { path: "storeId", reason });
  }
  const active = enabled.filter(({ config }) => isObject(config) && config.active === true);
  const [chosen] = active;
  if (chosen !== undefined && active.length === 1) return ok(chosen.store);
  const activeNames = active.map(({ store }) => store.contract.storeId).join(", ");
  return fail("store_cardinality", { active: activeNames || "none" });
}

async function endAll(started: readonly Candidate[], why: Result<never>): Promise<Result<never>> {
  for (const { store } of started) await end(store);
  return why;
}

/** A store that cannot even end has nothing to add to the reason for which it is ended. */
async function end(store: SessionStore): Promise<void> {
  await answerOf(() => store.dispose());
}

/** A third party's store may break the contract: throw, or answer with nothing. */
async function answerOf(ask: () => Promise<Result<void>>): Promise<Result<void>> {
  try {
    const answer = await ask();
    return answer.ok ? answer : fail(answer.refusal.code, answer.refusal.details);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("store_unavailable", { reason });
  }
}

/** Why a store cannot be used. Only an active one writes; an initialised one may be read. */
const REASONS: Readonly<Record<LifePhase, string>> = {
  ...PHASE_REASONS,
  initialised: "it is not the active store",
};

/** The part of a store's life that all stores share. */
export class StoreLife {
  #phase: LifePhase = "new";
  #mayActivate = false;
  /** Numbers the attempts, so that what one opened is not taken for that of the next. */
  #attempt = 0;

  /**
   * Begins to initialise, unless that is done or under way: a backend is opened once. After a
   * disposal a store may begin again.
   */
  begin(): Result<number> {
    if (this.#phase === "initialised") return unavailable("it is already initialised");
    const begun = phaseAfter(this.#phase, "init");
    if (begun === null) return this.#refusal();
    this.#phase = begun;
    this.#attempt += 1;
    return ok(this.#attempt);
  }

  /** Refused if the store was ended meanwhile; then what was opened has to be shut again. */
  succeeded(attempt: number, active: boolean): Result<void> {
    if (!this.#isCurrent(attempt)) return unavailable("it was ended while it was initialised");
    this.#phase = "initialised";
    this.#mayActivate = active;
    return DONE;
  }

  failed(attempt: number) {
    if (this.#isCurrent(attempt)) this.#phase = "new";
  }

  activate(): Result<void> {
    if (this.#phase === "active") return DONE;
    const active = this.#mayActivate ? phaseAfter(this.#phase, "activate") : null;
    if (active === null) return this.#refusal();
    this.#phase = active;
    return DONE;
  }

  /** Its handles are released, so it does not become active again before it is initialised. */
  deactivated() {
    this.#mayActivate = false;
    this.#phase = phaseAfter(this.#phase, "deactivate") ?? this.#phase;
  }

  disposed() {
    this.#phase = "disposed";
  }

  forReading(): Result<void> {
    const may = this.#phase === "initialised" || this.#phase === "active";
    return may ? DONE : this.#refusal();
  }

  forWriting(): Result<void> {
    return this.#phase === "active" ? DONE : this.#refusal();
  }

  #isCurrent(attempt: number): boolean {
    return this.#phase === "initialising" && this.#attempt === attempt;
  }

  #refusal(): Result<never> {
    return unavailable(REASONS[this.#phase]);
  }
}

function unavailable(reason: string): Result<never> {
  return fail("store_unavailable", { reason });
}

/** Every store can be switched off, and exactly one is the active one. */
export interface StoreConfig {
  readonly enabled: boolean;
  readonly active: boolean;
}

interface OptionRule {
  readonly schema: JsonObject;
  readonly accepts: (value: unknown) => boolean;
  readonly required: boolean;
}

export type OptionRules = Readonly<Record<string, OptionRule>>;

const OPTION_CHARS_MAX = 4_096;

const SWITCHES: OptionRules = {
  enabled: { schema: { type: "boolean" }, accepts: isBoolean, required: false },
  active: { schema: { type: "boolean" }, accepts: isBoolean, required: false },
};

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

/** A text option, such as a path. */
export function textOption(required: boolean, pattern?: RegExp): OptionRule {
  const accepts = (value: unknown) =>
    typeof value === "string" &&
    value !== "" &&
    value.length <= OPTION_CHARS_MAX &&
    !/\p{Cc}/u.test(value) &&
    (pattern?.test(value) ?? true);
  const schema = { type: "string", minLength: 1, maxLength: OPTION_CHARS_MAX };
  return { schema: pattern ? { ...schema, pattern: pattern.source } : schema, accepts, required };
}

/** What a store of ours says about itself; only these differ from store to store. */
export function storeContract(
  storeId: string,
  options: OptionRules,
  snapshotBytesLimit: number,
  search = false,
): StoreContract {
  return {
    kind: "SessionStore",
    contractVersion: CONTRACT_VERSION,
    requiredCoreVersion: ">=0.1.0",
    configSchema: configSchema(options),
    loadedCardinality: "unlimited",
    activeCardinality: "one",
    stateSlot: null,
    discoveryRules: { folder: "session-stores", key: storeId },
    reloadBehavior: "never",
    capabilities: {
      journaling: true,
      snapshotBytesLimit,
      largeSlotStreaming: false,
      concurrentReaders: true,
      ...(search && { search }),
    },
    storeId,
  };
}

/** The JSON Schema that a store publishes for these options. */
export function configSchema(rules: OptionRules): JsonObject {
  const all = { ...SWITCHES, ...rules };
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries(all).map(([name, { schema }]) => [name, schema])),
    required: Object.keys(all).filter((name) => all[name]?.required),
  };
}

/** Checks a configuration by the same rules that its schema was made of. */
export function readConfig(
  config: unknown,
  rules: OptionRules,
): Result<StoreConfig & Readonly<Record<string, unknown>>> {
  if (!isObject(config)) return wrong("config", "it must be an object");
  const all = { ...SWITCHES, ...rules };
  for (const [name, value] of Object.entries(config)) {
    const rule = Object.hasOwn(all, name) ? all[name] : undefined;
    if (rule === undefined) return wrong(name.slice(0, 64), "there is no such option");
    if (!rule.accepts(value)) return wrong(name, "the value is not of the right form");
  }
  const missing = Object.keys(all).find((name) => all[name]?.required && !(name in config));
  if (missing !== undefined) return wrong(missing, "it is missing");
  return ok({ ...config, enabled: config.enabled !== false, active: config.active === true });
}

function wrong(path: string, reason: string): Result<never> {
  return fail("invalid_store_config", { path, reason });
}
