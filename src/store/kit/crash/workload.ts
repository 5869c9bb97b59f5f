import type { ErrorCode } from "../../../core/error.ts";
import type { TenantId } from "../../../core/id.ts";
import type { Result } from "../../../core/result.ts";
import { type Holder, thisHolder } from "../../holder.ts";
import type * as S from "../../store.ts";
import { value } from "../expect.ts";
import * as sample from "../sample.ts";
import { DoomedLane } from "./doomed.ts";
import { type Hand, Lane, type Submit } from "./lane.ts";

/** How a child process is told what to do. */
export interface ChildRequest {
  readonly factory: string;
  readonly config: unknown;
  readonly task: "work" | "hold" | "open";
  readonly seed: number;
  readonly life: string;
  /** The calls after which it stops by itself, if it is not killed before. */
  readonly steps: number;
}

export const TENANTS = [sample.ACME, sample.GLOBEX] as const;
const DOCUMENT_KINDS = ["token", "member"] as const;

const LANES = 6;
const PHASE_STEPS_MAX = 60;
const RESTART_PERCENT = 30;
/** So many documents are written together with an entry that tells of it. */
const TOLD_PERCENT = 70;

export const QUIET_HOST: S.StoreHost = {
  persistenceSurface: { announce: () => {} },
  env: { get: () => undefined },
  audit: () => {},
};

export async function started(store: S.SessionStore, config: unknown): Promise<S.SessionStore> {
  await value(store.init(QUIET_HOST, config));
  await value(store.activate());
  return store;
}

/** Random work on several sessions at once, until it is killed or has done enough. */
export async function work(
  make: () => S.SessionStore,
  orders: ChildRequest,
  say: (line: Line) => void,
): Promise<void> {
  const { config, seed, life, steps } = orders;
  const chance = new Chance(seed);
  let store = await started(make(), config);
  let calls = 0;
  const tell: Tell = async (step, refused, act) => {
    calls += 1;
    const n = calls;
    say({ says: "calls", n, step, refused });
    const answer = await act();
    say({ says: "answered", n, answer });
    return answer;
  };
  const submit: Submit = (step, refused = null) => tell(step, refused, () => perform(store, step));
  let numbers = 0;
  const fresh = () => {
    numbers += 1;
    return numbers;
  };
  const { storeId } = store.contract;
  const hand: Hand = { submit, chance, holder: thisHolder(life), storeId, fresh, life };
  const lanes = await lanesOver(store, hand);
  const tenants = new TenantLane(store, hand);
  const doomed = new DoomedLane(hand);
  say({ says: "has", fact: "started" });
  while (calls < steps) {
    const count = chance.between(5, PHASE_STEPS_MAX);
    const all = [...lanes, tenants, doomed];
    await Promise.all(all.map((lane) => lane.run(count)));
    if (!chance.happens(RESTART_PERCENT)) continue;
    await shut(store, lanes, tell);
    store = await started(make(), config);
    tenants.store = store;
  }
  await shut(store, lanes, tell);
}

type Tell = (
  step: StoreStep,
  refused: ExpectedRefusal,
  act: () => Promise<Result<unknown>>,
) => Promise<Result<unknown>>;

/** A store that is shut gives up what it owns, as if each session had been closed. */
async function shut(store: S.SessionStore, lanes: readonly Lane[], tell: Tell): Promise<void> {
  const held = lanes.flatMap(({ owned }) => (owned === null ? [] : [owned]));
  const over = new Promise<Result<void>>((resolve) => {
    // The calls are told before the store hears of its end.
    queueMicrotask(async () => {
      const result = await store.deactivate();
      await value(store.dispose());
      resolve(result);
    });
  });
  const closings = held.map(({ key, term }) => tell({ op: "close", key, term }, null, () => over));
  await Promise.all([...closings, value(over)]);
  for (const lane of lanes) lane.disown();
}

async function lanesOver(store: S.SessionStore, hand: Hand): Promise<readonly Lane[]> {
  const left: S.SessionKey[] = [];
  for (const tenantId of TENANTS) {
    const page = { limit: LANES, cursor: null };
    const { sessions } = await value(store.list(tenantId, {}, page));
    left.push(...sessions.map(({ sessionId }) => ({ tenantId, sessionId })));
  }
  return Array.from({ length: LANES }, (_, index) => {
    const key = hand.chance.happens(70) ? left[index] : undefined;
    const tenant = key?.tenantId ?? TENANTS[index % TENANTS.length] ?? sample.ACME;
    const lane = new Lane(hand, `${index}`, tenant);
    if (key) lane.adopt(key);
    return lane;
  });
}

/** What belongs to a tenant beside its sessions. */
class TenantLane {
  readonly #hand: Hand;
  store: S.SessionStore;

  constructor(store: S.SessionStore, hand: Hand) {
    this.#hand = hand;
    this.store = store;
  }

  async run(count: number): Promise<void> {
    for (let step = 0; step < count; step += 1) await this.#step();
  }

  async #step() {
    const { chance, submit, fresh, life } = this.#hand;
    const tenantId = chance.oneOf(TENANTS) ?? sample.ACME;
    const roll = chance.below(3);
    if (roll === 0) {
      const name = () => `${life}-tenant-${fresh()}`;
      const entries = Array.from({ length: chance.between(1, 3) }, () => sample.entry(name()));
      await submit({ op: "append", tenantId, entries });
    } else if (roll === 1) {
      const bytes = new Uint8Array(8 + chance.below(30_000)).fill(fresh());
      new DataView(bytes.buffer).setFloat64(0, chance.below(2 ** 31));
      await submit({ op: "blob", tenantId, bytes });
    } else await this.#document(tenantId);
  }

  /** Two writes of one document; the second does not wait for the first, if it knows enough. */
  async #document(tenantId: S.SessionKey["tenantId"]) {
    const { chance, submit, fresh, life } = this.#hand;
    const told = () =>
      chance.happens(TOLD_PERCENT) ? [sample.entry(`${life}-document-${fresh()}`)] : [];
    const kind = chance.oneOf(DOCUMENT_KINDS) ?? "";
    const key = `${chance.below(4)}`;
    const found = await value(this.store.readDocument(tenantId, kind, key));
    const expectedVersion = found?.version ?? 0;
    const first = { kind, key, expectedVersion, value: { n: fresh() }, entries: told() };
    const written = submit({ op: "document", tenantId, write: first });
    if (found !== null) {
      const next = chance.happens(30) ? null : { n: fresh() };
      const second = {
        ...first,
        expectedVersion: expectedVersion + 1,
        value: next,
        entries: told(),
      };
      await submit({ op: "document", tenantId, write: second });
    }
    await written;
  }
}

/** One call to a store, as a value: it can be made, told to another process, and played back. */
export type StoreStep =
  | { readonly op: "create"; readonly key: S.SessionKey; readonly session: S.NewSession }
  | ({ readonly op: "open"; readonly key: S.SessionKey; readonly holder: Holder } & WithAudit)
  | ({ readonly op: "seize"; readonly key: S.SessionKey; readonly holder: Holder } & WithAudit)
  | ({ readonly op: "commit"; readonly key: S.SessionKey; readonly commit: S.Commit } & Termed)
  | ({ readonly op: "close"; readonly key: S.SessionKey } & Termed)
  | ({ readonly op: "cutLog"; readonly key: S.SessionKey; readonly cut: S.LogCut } & Termed)
  | ({ readonly op: "delete"; readonly key: S.SessionKey; readonly holder: Holder } & WithAudit)
  | { readonly op: "removeTenant"; readonly tenantId: TenantId; readonly holder: Holder }
  | { readonly op: "append"; readonly tenantId: TenantId; readonly entries: Entries }
  | { readonly op: "document"; readonly tenantId: TenantId; readonly write: S.DocumentWrite }
  | { readonly op: "blob"; readonly tenantId: TenantId; readonly bytes: Uint8Array };

type Entries = readonly S.JournalEntry[];
type WithAudit = { readonly audit: Entries };
type Termed = { readonly term: number };

export type SessionStep = Extract<StoreStep, { readonly key: S.SessionKey }>;

export function perform(store: S.SessionStore, step: StoreStep): Promise<Result<unknown>> {
  switch (step.op) {
    case "create":
      return store.create(step.key, step.session);
    case "open":
      return store.open(step.key, step.holder, step.audit);
    case "seize":
      return store.seize(step.key, step.holder, step.audit);
    case "commit":
      return store.commit(step.key, step.term, step.commit);
    case "close":
      return store.close(step.key, step.term);
    case "cutLog":
      return store.cutLog(step.key, step.term, step.cut);
    case "delete":
      return store.delete(step.key, step.holder, step.audit);
    case "removeTenant":
      return store.removeTenant(step.tenantId, step.holder);
    case "append":
      return store.appendJournal(step.tenantId, step.entries);
    case "document":
      return store.writeDocument(step.tenantId, step.write);
    case "blob":
      return store.writeBlob(step.tenantId, step.bytes);
  }
}

/** What the child process says, one line each. */
export type Line =
  /** Before it calls: `refused` is the code that it expects, if the call is a bad one. */
  | {
      readonly says: "calls";
      readonly n: number;
      readonly step: StoreStep;
      readonly refused: ExpectedRefusal;
    }
  /** After the store has answered, and never before. */
  | { readonly says: "answered"; readonly n: number; readonly answer: Result<unknown> }
  | { readonly says: "has"; readonly fact: string }
  | { readonly says: "failed"; readonly why: string };

export type ExpectedRefusal = ErrorCode | null;

export function writeLine(line: Line): string {
  return `${JSON.stringify(line, (_, value: unknown) =>
    value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value,
  )}\n`;
}

export function readLine(text: string): Line {
  return JSON.parse(text, (_, value: unknown) => (isBytes(value) ? bytesOf(value) : value));
}

function isBytes(value: unknown): value is { readonly base64: string } {
  if (typeof value !== "object" || value === null || !("base64" in value)) return false;
  return typeof value.base64 === "string";
}

function bytesOf({ base64 }: { readonly base64: string }): Uint8Array {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}

/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, and less than `bound`. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in `percent` of a hundred cases. */
  happens(percent: number): boolean {
    return this.below(100) < percent;
  }

  oneOf<Value>(values: readonly Value[]): Value | undefined {
    return values[this.below(values.length)];
  }
}
