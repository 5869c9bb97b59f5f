import { parseTenantId, parseUserId, type SessionId, type TurnId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor, Command, CommandData, CommandType } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import { Life, newPrompt, promptId, sessionId, turnId } from "../../core/session/life.fixture.ts";
import type { Session } from "../../core/session/state.ts";
import { memoryStore } from "../../store/memory/store.ts";
import type { JournalEntry, SessionKey, SessionStore } from "../../store/store.ts";
import { writeEvents } from "../actor/written.ts";
import { given } from "../world.fixture.ts";
import { readLine, type StatementLine } from "./entry.ts";
import { LedgerMeter } from "./ledger-meter.ts";
import { PriceTable } from "./price-table.ts";
import { reservationRequest } from "./reservation-request.ts";

export const TENANT = given(parseTenantId("acme"));
export const ADA = given(parseUserId("ada"));

/** The operator. */
export const OPERATOR = { kind: "operator" } as const;

export function granting(id: string, amountMicro: number) {
  return { id, amountMicro, note: null, by: OPERATOR };
}

/** A micro-credit per token, and ten are set aside for a turn. */
const CHEAP = { input: 1_000_000, output: 1_000_000, reserve: 10 };

/** The server is gone in the middle of something. */
export class Crash extends Error {}

/** A store that can be killed before or after any of its next writes to the ledger. */
export class FrailStore {
  readonly store: SessionStore;
  readonly #memory = memoryStore();
  /** Counts down at each step; at zero the server is gone. */
  stepsLeft = Number.POSITIVE_INFINITY;

  constructor() {
    const memory = this.#memory;
    const appendJournal = (tenant: typeof TENANT, entries: readonly JournalEntry[]) =>
      this.stepping(() => memory.appendJournal(tenant, entries));
    const tenants = async () => ok([TENANT]);
    this.store = new Proxy(memory, {
      get: (target, name) => {
        if (name === "appendJournal") return appendJournal;
        if (name === "tenants") return tenants;
        const member = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  static async open(): Promise<FrailStore> {
    const frail = new FrailStore();
    const host = {
      persistenceSurface: { announce: () => {} },
      env: { get: () => undefined },
      audit: () => {},
    };
    await frail.#memory.init(host, { active: true });
    await frail.#memory.activate();
    return frail;
  }

  /** One write: the server may be gone before it, or after it and before the answer. */
  async stepping<Value>(write: () => Promise<Value>): Promise<Value> {
    this.#step();
    const value = await write();
    this.#step();
    return value;
  }

  #step() {
    this.stepsLeft -= 1;
    if (this.stepsLeft < 0) throw new Crash();
  }

  /** What a session's commit brings, all of it at once. */
  commitEntries(entries: readonly JournalEntry[]): Promise<Result<void>> {
    return this.#memory.appendJournal(TENANT, entries);
  }

  async lines(): Promise<readonly StatementLine[]> {
    const lines: StatementLine[] = [];
    for (let more = true; more; ) {
      const query = { journal: "ledger", after: lines.length, limit: PAGE_ROWS_MAX } as const;
      const page = await this.#memory.readJournal(TENANT, query);
      if (!page.ok) throw new Error(page.refusal.code);
      lines.push(...page.value.rows.map((row) => given(readLine(row))));
      more = page.value.more;
    }
    return lines;
  }
}

/** Sessions whose turns are paid for, over a store that dies: what is in `logs` is durable. */
export class Till {
  readonly frail: FrailStore;
  readonly logs = new Map<SessionId, Session>();
  meter: LedgerMeter;
  nowMs = 1_000;
  #turns = 0;

  /** Of the next server; the one that runs has read its own. */
  prices: PriceTable;

  private constructor(frail: FrailStore, prices: PriceTable) {
    this.frail = frail;
    this.prices = prices;
    this.meter = this.#opened(prices);
  }

  static async open(sessions: number, prices = priced()): Promise<Till> {
    const till = new Till(await FrailStore.open(), prices);
    for (let n = 0; n < sessions; n += 1) {
      const life = new Life().ready();
      till.logs.set(sessionId(`s${n}`), { ...life.now, sessionId: sessionId(`s${n}`) });
    }
    return till;
  }

  /** A second process over the same store, set up as this one is, or otherwise. */
  another(usual: "granted" | "unlimited" | null = "granted"): LedgerMeter {
    return this.#opened(this.prices, usual);
  }

  #opened(prices: PriceTable, usual: "granted" | "unlimited" | null = "granted"): LedgerMeter {
    return new LedgerMeter({
      store: this.frail.store,
      prices,
      usualLimit: () => usual,
      nowMs: () => this.nowMs,
      log: () => {},
    });
  }

  session(n: number): { key: SessionKey; session: Session } {
    const id = sessionId(`s${n}`);
    return { key: { tenantId: TENANT, sessionId: id }, session: given(this.logs.get(id) ?? null) };
  }

  order(n: number, turn: TurnId) {
    const { key, session } = this.session(n);
    return reservationRequest(key, session, { turnId: turn, userId: ADA });
  }

  /** One commit of a session: its events, and the ledger's share in it, or neither. */
  async commit<Type extends CommandType>(n: number, type: Type, data: CommandData[Type]) {
    const { key, session } = this.session(n);
    const actor = actorOf(type, session);
    // A command is what its type says it has, and the time and the caller beside it.
    const command = { type, actor, atMs: this.nowMs, ...data } as Command;
    const decision = decide(session, command);
    const written = writeEvents(decision.events, 1);
    const entries = this.meter.entries(key, session, written);
    if (entries.length === 0) this.#keep(key, decision.session);
    else {
      const appended = await this.frail.stepping(async () => {
        const done = await this.frail.commitEntries(entries);
        if (done.ok) this.#keep(key, decision.session);
        return done;
      });
      if (!appended.ok) throw new Error(appended.refusal.code);
    }
    for (const { event } of written) {
      if (event.type === "credits_reserved" && event.data.n === 0) {
        this.meter.begun(event.data.turnId);
      }
    }
    return decision.kind === "refused" ? decision.refusal : null;
  }

  #keep({ sessionId: id }: SessionKey, session: Session | null) {
    if (session !== null) this.logs.set(id, session);
  }

  /** A prompt and its turn, if there is credit for it; the turn's id, or why there is none. */
  async begin(n: number): Promise<TurnId | string> {
    const { session } = this.session(n);
    if (session.connection.sessionState !== "ready") return "busy";
    this.#turns += 1;
    const turn = turnId(`t${this.#turns}`);
    const order = this.order(n, turn);
    const credit = await this.meter.reserve(order);
    if (!credit.ok) return credit.refusal.code;
    const prompt = newPrompt(`p${this.#turns}`);
    await this.commit(n, "prompt", prompt);
    const start = { turnId: turn, ...credit.value };
    await this.commit(n, "begin_turn", { promptId: promptId(`p${this.#turns}`), start });
    return turn;
  }

  /** The agent tells what it has used so far; it gets a slice if that is more than it has. */
  async uses(n: number, output: number): Promise<string | null> {
    const { running } = this.session(n).session;
    if (running === null) return "idle";
    const { turnId: turn } = running;
    const tokens = { input: 0, output, cachedRead: 0, cachedWrite: 0, thought: 0 };
    const usage = { model: null, used: null, size: null, tokens };
    await this.commit(n, "usage", { turnId: turn, usage });
    const open = this.session(n).session.connection.turn.currentReservation;
    if (open === null || open.spentMicro <= open.reservedMicro) return null;
    const missingMicro = open.spentMicro - open.reservedMicro;
    const wanted = { n: open.slices, price: open.price, missingMicro };
    const slice = await this.meter.slice(this.order(n, turn), wanted);
    if (!slice.ok) return slice.refusal.code;
    const more = { turnId: turn, n: open.slices, amountMicro: slice.value };
    await this.commit(n, "reserve_slice", more);
    return null;
  }

  async ends(n: number): Promise<void> {
    const { running } = this.session(n).session;
    if (running === null) return;
    const { turnId: turn } = running;
    const report = { status: "turn_complete", turnId: turn, stopReason: "end_turn" } as const;
    await this.commit(n, "agent_status", report);
  }

  /** Another server over the same store: every session is opened, recovered, and made ready. */
  async restart(): Promise<void> {
    this.frail.stepsLeft = Number.POSITIVE_INFINITY;
    this.meter = this.#opened(this.prices);
    for (let n = 0; n < this.logs.size; n += 1) {
      const { key, session } = this.session(n);
      await this.meter.opened(key, session);
      await this.commit(n, "recovery", {});
    }
    await this.meter.sweep(async (key) => this.#found(key));
    for (const id of this.logs.keys()) {
      const { totals } = given(this.logs.get(id) ?? null);
      const life = new Life().ready();
      this.logs.set(id, { ...life.now, sessionId: id, totals });
    }
  }

  #found({ sessionId: id }: SessionKey): Result<Session> {
    const session = this.logs.get(id);
    return session === undefined ? fail("session_not_found", { sessionId: id }) : ok(session);
  }
}

function actorOf(type: CommandType, { activation }: Session): Actor {
  if (type === "usage" || type === "agent_status") return { kind: "agent", activation };
  if (type !== "prompt") return { kind: "server" };
  return { kind: "client", clientId: null, userId: ADA, loopback: true };
}

export function priced(row: object = CHEAP): PriceTable {
  return new PriceTable({ agents: { echo: row, agent: row } });
}
