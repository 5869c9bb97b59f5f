import type { Result } from "../../../core/result.ts";
import { thisHolder } from "../../holder.ts";
import type * as S from "../../store.ts";
import { value } from "../expect.ts";
import * as sample from "../sample.ts";
import { Chance } from "./chance.ts";
import { DoomedLane } from "./doomed-lane.ts";
import { type Hand, Lane, type Submit } from "./lane.ts";
import { type Line, perform, type Refused, type Step } from "./step.ts";

/** How a child process is told what to do. */
export interface Orders {
  readonly factory: string;
  readonly config: unknown;
  readonly task: "work" | "hold" | "open";
  readonly seed: number;
  readonly life: string;
  /** The calls after which it stops by itself, if nobody has stopped it. */
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
  orders: Orders,
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
  step: Step,
  refused: Refused,
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
