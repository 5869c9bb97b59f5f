import type { FailingAgent } from "../../agent/keeper.ts";
import { sentenceOf } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import {
  HEALTH_LOOK_AGE_MS_MAX,
  HEALTH_LOOK_EVERY_MS,
  HEALTH_LOOK_MS_MAX,
  HEALTH_MISSING_CHECKED_MAX,
  HEALTH_REASONS_MAX,
} from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { Result } from "../../core/result.ts";
import type { Viewer } from "../../core/session/visibility.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import type { SessionKey, SessionStore, StoreFault } from "../../store/store.ts";
import { isLacking, missingSessions, type SessionNotes } from "./missing-sessions.ts";
import { isNoted, missingTenants, NotedTenants, type TenantNotes } from "./missing-tenants.ts";

/** One thing that is wrong with the server, as one caller may know it. */
export interface HealthReason {
  readonly code: HealthCode;
  readonly message: string;
  /** Only the operator is told of other tenants than their own. */
  readonly tenantId?: TenantId;
  /** How many sessions are concerned, where that is known. */
  readonly sessions?: number;
  /** Whether requests are refused because of it. */
  readonly blocks: boolean;
}

/**
 * What can be wrong, the worst first. `public` is what each user of the tenant is told: it names no
 * path, and no count of what the user may not see. Null is for owners and the operator only.
 */
const CODES = {
  store_unwritable: {
    blocks: true,
    public: "The server cannot store anything at the moment; its operator has to look.",
  },
  database_damaged: {
    blocks: true,
    public: "What is stored of this tenant is damaged; the operator has to look.",
  },
  database_missing: {
    blocks: true,
    public: "What is stored of this tenant is gone from its place; the operator has to look.",
  },
  tenant_missing: { blocks: false, public: null },
  sessions_missing: { blocks: false, public: null },
  agent_failing: { blocks: false, public: null },
} as const satisfies Readonly<
  Record<string, { readonly blocks: boolean; readonly public: string | null }>
>;

type HealthCode = keyof typeof CODES;

/** A reason as it was found. */
interface Finding {
  readonly code: HealthCode;
  readonly tenantId: TenantId | null;
  /** For the operator; it may name paths. */
  readonly message: string;
  /** For owners of the tenant; null is the public one. */
  readonly forOwners: string | null;
  readonly sessions?: number;
}

interface HealthDeps {
  readonly store: SessionStore;
  /** Null where sessions do not outlive the process. */
  readonly notes: (SessionNotes & TenantNotes) | null;
  readonly agents: { failing(): readonly FailingAgent[] };
  readonly clock: Clock;
  readonly log: Log;
  redact(text: string): string;
}

const FAULT_CODES = {
  unwritable: "store_unwritable",
  damaged: "database_damaged",
  missing: "database_missing",
} as const satisfies Readonly<Record<StoreFault["kind"], HealthCode>>;

/**
 * Knows what is wrong with a server. It looks at intervals, and when it is asked, but not more
 * often than the limits say. What it finds or finds no longer goes to the log once.
 */
export class ServerHealth {
  readonly #deps: HealthDeps;
  readonly #tenants: NotedTenants | null;
  #missing: readonly SessionKey[] = [];
  #missingTenants: readonly TenantId[] = [];
  #look: Promise<readonly Finding[]> | null = null;
  #isLooking = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #told = new Map<string, Finding>();
  #callOff: CallOff = () => {};
  #isOver = false;

  constructor(deps: HealthDeps) {
    this.#deps = deps;
    const { store, notes } = deps;
    this.#tenants = notes && new NotedTenants(store, notes);
  }

  /** Looks once for what was lost, and from now on at intervals for all else. */
  async begin(): Promise<void> {
    await this.#findMissing().catch((thrown: unknown) => {
      this.#deps.log("degraded", { reason: "sessions_missing", message: String(thrown) });
    });
    await this.#lookRepeatedly();
  }

  end() {
    this.#isOver = true;
    this.#callOff();
  }

  /** What the viewer may know of; null is the operator, who may know all. The worst is first. */
  async reasons(viewer: Viewer | null): Promise<readonly HealthReason[]> {
    const found = await this.#findings();
    const shown = found.flatMap((finding) => reasonFor(finding, viewer) ?? []);
    return shown.slice(0, HEALTH_REASONS_MAX);
  }

  /** Requests that come together share one look, and no second one begins beside it. */
  #findings(): Promise<readonly Finding[]> {
    const { clock } = this.#deps;
    const isFresh = clock.nowMs() - this.#lookedAtMs < HEALTH_LOOK_AGE_MS_MAX;
    if (this.#look !== null && (isFresh || this.#isLooking)) return this.#look;
    this.#isLooking = true;
    this.#look = this.#found().finally(() => {
      this.#isLooking = false;
      this.#lookedAtMs = clock.nowMs();
    });
    return this.#look;
  }

  async #found(): Promise<readonly Finding[]> {
    const store = await this.#storeFindings();
    const missing = await this.#missingFindings();
    const tenants = await this.#tenantFindings();
    const found = [...store, ...tenants, ...missing, ...this.#agentFindings()];
    const order = Object.keys(CODES);
    const sorted = found.toSorted((a, b) => order.indexOf(a.code) - order.indexOf(b.code));
    this.#tell(sorted);
    return sorted;
  }

  async #storeFindings(): Promise<readonly Finding[]> {
    const checked = await this.#inTime(this.#checked());
    if (checked === "late") {
      return [ofStore(`the store has not answered within ${HEALTH_LOOK_MS_MAX} ms`)];
    }
    if (!checked.ok) return [ofStore(sentenceOf(checked.refusal))];
    return checked.value.map(({ kind, tenantId, reason }) => {
      const code = FAULT_CODES[kind];
      return { code, tenantId, message: this.#deps.redact(reason), forOwners: null };
    });
  }

  async #inTime<Value>(work: Promise<Value>): Promise<Value | "late"> {
    const { promise: late, resolve } = Promise.withResolvers<"late">();
    const callOff = this.#deps.clock.after(HEALTH_LOOK_MS_MAX, () => resolve("late"));
    return Promise.race([work, late]).finally(callOff);
  }

  async #checked(): Promise<Result<readonly StoreFault[]>> {
    const { store } = this.#deps;
    return (await store.check?.()) ?? { ok: true, value: [] };
  }

  async #findMissing(): Promise<void> {
    const { notes, store, log } = this.#deps;
    if (notes === null) return;
    const found = await missingSessions(store, notes);
    if (!found.ok) {
      log("degraded", { reason: "sessions_missing", message: sentenceOf(found.refusal) });
      return;
    }
    this.#missing = found.value.missing;
    for (const key of found.value.deleted) await notes.forget(key);
    const tenants = await missingTenants(store, notes);
    if (tenants.ok) this.#missingTenants = tenants.value;
  }

  /** A tenant stays missing when a request makes its database anew: what was in it is gone. */
  async #tenantFindings(): Promise<readonly Finding[]> {
    await this.#inTime(this.#recheckTenants());
    return this.#missingTenants.map((tenantId) => {
      const message = "its database was there at the last start, with all members and tokens";
      return { code: "tenant_missing", tenantId, message, forOwners: message };
    });
  }

  async #recheckTenants(): Promise<void> {
    const { notes, store } = this.#deps;
    for (const tenantId of this.#missingTenants.slice(0, HEALTH_MISSING_CHECKED_MAX)) {
      const isStill = notes !== null && (await isNoted(store, notes, tenantId));
      const others = this.#missingTenants.filter((other) => other !== tenantId);
      this.#missingTenants = isStill ? [...others, tenantId] : others;
    }
    await this.#tenants?.update();
  }

  /** Those that were restored, or that the operator has put up with, are not missed any more. */
  async #missingFindings(): Promise<readonly Finding[]> {
    await this.#inTime(this.#recheckMissing());
    const byTenant = Map.groupBy(this.#missing, ({ tenantId }) => tenantId);
    return [...byTenant].map(([tenantId, { length }]) => {
      const what = length === 1 ? "1 session is missing" : `${length} sessions are missing`;
      const message = `${what}: once stored, and not in the store any more`;
      return { code: "sessions_missing", tenantId, message, forOwners: message, sessions: length };
    });
  }

  /** Asks for some of them at each look, in turn. */
  async #recheckMissing(): Promise<void> {
    const { notes, store } = this.#deps;
    for (const key of this.#missing.slice(0, HEALTH_MISSING_CHECKED_MAX)) {
      const isStill = notes !== null && (await isLacking(store, notes, key));
      const others = this.#missing.filter((other) => other !== key);
      this.#missing = isStill ? [...others, key] : others;
    }
  }

  #agentFindings(): readonly Finding[] {
    const failing = this.#deps.agents.failing();
    return failing.map(({ tenantId, profile, workspace, failures, reason }) => {
      const what = `agent "${profile}" failed ${failures} times in a row`;
      const message = this.#deps.redact(`${what} in ${workspace}: ${reason}`);
      return { code: "agent_failing", tenantId, message, forOwners: what };
    });
  }

  /** Each reason is logged when it appears, and when it is gone. */
  #tell(found: readonly Finding[]) {
    const { log } = this.#deps;
    const now = new Map(found.map((finding) => [nameOf(finding), finding]));
    for (const [name, { code, tenantId, message }] of now) {
      if (!this.#told.has(name)) log("degraded", { reason: code, ...tenantIn(tenantId), message });
    }
    for (const [name, { code, tenantId }] of this.#told) {
      if (!now.has(name)) log("no longer degraded", { reason: code, ...tenantIn(tenantId) });
    }
    this.#told = now;
  }

  async #lookRepeatedly(): Promise<void> {
    if (this.#isOver) return;
    await this.#findings().catch(() => []);
    if (this.#isOver) return;
    this.#callOff = this.#deps.clock.after(HEALTH_LOOK_EVERY_MS, () => void this.#lookRepeatedly());
  }
}

function ofStore(message: string): Finding {
  return { code: "store_unwritable", tenantId: null, message, forOwners: null };
}

function nameOf({ code, tenantId, forOwners, sessions }: Finding): string {
  return JSON.stringify([code, tenantId, code === "agent_failing" ? forOwners : null, sessions]);
}

const tenantIn = (tenantId: TenantId | null) => (tenantId === null ? {} : { tenantId });

/** A finding as the viewer may see it; null if it is none of the viewer's business (P8). */
function reasonFor(finding: Finding, viewer: Viewer | null): HealthReason | null {
  const { code, tenantId, message, forOwners, sessions } = finding;
  const { blocks, public: common } = CODES[code];
  if (viewer === null) {
    return { code, message, ...tenantIn(tenantId), ...(sessions && { sessions }), blocks };
  }
  if (tenantId !== null && tenantId !== viewer.tenantId) return null;
  const isOwner = viewer.role === "owner";
  const text = (isOwner ? forOwners : null) ?? common;
  if (text === null) return null;
  return { code, message: text, ...(isOwner && sessions && { sessions }), blocks };
}
