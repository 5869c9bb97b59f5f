import type { TurnId } from "../../src/core/id.ts";
import { PHASE_AFTER, type PhaseBefore } from "../../src/core/lifecycle.ts";
import type { LogEvent } from "../../src/core/replay/compact.ts";
import type { EventType, SessionEvent } from "../../src/core/session/event.ts";
import { hasTurn, type SessionState, VALID_TRANSITIONS } from "../../src/core/status.ts";
import type { SessionKey, SessionRecord } from "../../src/store/index.ts";
import type { Judge } from "./judge.ts";
import { StoredChildren } from "./stored-children.ts";
import { StoredSettings } from "./stored-settings.ts";
import { ASIDE } from "./words.ts";

/** What the log says of one turn's money. */
interface Money {
  reservedMicro: number;
  isSettled: boolean;
}

/**
 * One session's log as the disk has it, kept beside the disk and judged event by event, from the
 * events alone: nothing here asks the core what it thinks of them.
 */
export class StoredLog {
  readonly key: SessionKey;
  readonly texts: string[] = [];
  readonly events: LogEvent[] = [];
  /** The status after each event; the first is that of an empty log. */
  readonly #statuses: SessionState[] = ["inactive"];
  readonly #judge: Judge;
  #phase: PhaseBefore = "none";
  readonly #verdicts = new Map<string, number>();
  readonly admitted = new Set<string>();
  readonly #keys = new Map<string, string>();
  readonly #turns = new Map<string, Money>();
  readonly openAsks = new Set<string>();
  readonly asks: SessionEvent<"permission_request">["data"][] = [];
  readonly settings = new StoredSettings();
  readonly children: StoredChildren;
  /** Commands that have no result yet, and how those ended that have one, by their lines. */
  readonly openShells = new Set<string>();
  readonly shellLines = new Set<string>();
  readonly shellResults = new Map<string, SessionEvent<"user_shell_result">["data"]>();
  /** Turns that are whole, and so may be forked from. */
  readonly wholeTurns: TurnId[] = [];
  readonly branches = new Set<string>();
  /** A fork is a copy until it is finished: what it says then has happened elsewhere. */
  isDraft = false;
  /** Where that ends: no client has heard of it, and it cannot be streamed. */
  copiedThrough = 0;
  record: SessionRecord | null = null;
  readonly epoch: string;

  constructor(key: SessionKey, epoch: string, judge: Judge) {
    this.key = key;
    this.epoch = epoch;
    this.#judge = judge;
    this.children = new StoredChildren(SIMULATED_CHILDREN_MAX, (...said) => this.#holds(...said));
  }

  get lastId(): number {
    return this.texts.length;
  }

  get status(): SessionState {
    return this.statusAt(this.lastId);
  }

  statusAt(id: number): SessionState {
    return this.#statuses[id] ?? "inactive";
  }

  /** Prompts that have no verdict. */
  get waiting(): readonly string[] {
    return [...this.admitted].filter((promptId) => !this.#verdicts.has(promptId));
  }

  hasTurn(turnId: string): boolean {
    return this.#turns.has(turnId);
  }

  hasVerdict(promptId: string): boolean {
    return this.#verdicts.has(promptId);
  }

  /** Whether some event says so. */
  says(text: string): boolean {
    return this.texts.some((one) => one.includes(text));
  }

  append(texts: readonly string[]) {
    for (const text of texts) {
      const event: LogEvent = JSON.parse(text);
      this.texts.push(text);
      this.events.push(event);
      const { lastId } = this;
      this.#judge.holds(event.id === lastId, "P3", () => `event ${event.id} is at ${lastId}`);
      this.#holds(!text.includes(`"${ASIDE}-`), "P8", () => `what was said aside is at ${lastId}`);
      const isOurs = event.data.sessionId === this.key.sessionId;
      this.#holds(isOurs, "P8", () => `event ${lastId} is of ${event.data.sessionId}`);
      this.#statuses[lastId] = this.statusAt(lastId - 1);
      if (!this.isDraft || OF_DRAFTS.has(event.type)) this.#hear(event);
      else if (event.type === "turn_complete") this.#complete(event);
    }
    this.#judgeTogether();
  }

  #hear(event: LogEvent) {
    this.children.hear(event);
    if (event.type === "session_status") this.#moved(event.data);
    else if (event.type === "session_lifecycle") this.#entered(event.data);
    else if (event.type === "prompt_admitted") this.#admit(event.data);
    else if (event.type === "turn_complete" || event.type === "turn_error") {
      this.#pronounced(event.data.promptId);
      if (event.type === "turn_complete") this.#complete(event);
    } else if (event.type === "credits_reserved") this.#reserved(event.data);
    else if (event.type === "credits_settled") this.#settled(event.data);
    else if (event.type === "permission_request") {
      this.openAsks.add(event.data.requestId);
      this.asks.push(event.data);
    } else if (event.type === "permission_resolved") this.#answered(event.data.requestId);
    else if (event.type === "user_shell_command") this.#shellStarted(event.data);
    else if (event.type === "user_shell_result") this.#shellEnded(event.data);
    else if (event.type === "session_branched") this.branches.add(event.data.newSessionId);
    else this.settings.hear(event, (isSo, otherwise) => this.#holds(isSo, "P7", otherwise));
  }

  #complete({ data: { turnId } }: SessionEvent<"turn_complete">) {
    if (turnId !== undefined) this.wholeTurns.push(turnId);
  }

  #shellStarted({ shellId, command }: SessionEvent<"user_shell_command">["data"]) {
    this.#holds(!this.shellLines.has(command), "P2", () => `"${command}" was started twice`);
    this.shellLines.add(command);
    this.openShells.add(shellId);
  }

  #shellEnded(data: SessionEvent<"user_shell_result">["data"]) {
    const { shellId, command } = data;
    const isOpen = this.openShells.delete(shellId);
    this.#holds(isOpen, "P2", () => `${shellId} has a result and is not at work`);
    this.shellResults.set(command, data);
  }

  #moved({ from, to }: SessionEvent<"session_status">["data"]) {
    const { lastId } = this;
    const before = this.statusAt(lastId - 1);
    const isLegal = from === before && VALID_TRANSITIONS[from].has(to);
    this.#holds(isLegal, "P4", () => `at ${before} it went from ${from} to ${to}`);
    this.#statuses[lastId] = to;
  }

  #entered({ event, from, to }: SessionEvent<"session_lifecycle">["data"]) {
    const isLegal = from === this.#phase && PHASE_AFTER[from][event] === to;
    this.#holds(isLegal, "P4", () => `in ${this.#phase}, ${event} led from ${from} to ${to}`);
    this.#phase = to;
  }

  #admit({ promptId, idempotency, clientId }: SessionEvent<"prompt_admitted">["data"]) {
    this.#holds(!this.admitted.has(promptId), "P2", () => `${promptId} was admitted twice`);
    this.admitted.add(promptId);
    if (idempotency === undefined) return;
    const key = `${clientId} ${idempotency.key}`;
    const other = this.#keys.get(key);
    const once = `${other} and ${promptId} were admitted by one key`;
    this.#holds(other === undefined, "P2", () => once);
    this.#keys.set(key, promptId);
  }

  #pronounced(promptId: string) {
    const isKnown = this.admitted.has(promptId);
    this.#holds(isKnown, "P2", () => `${promptId} has a verdict and was never admitted`);
    const count = (this.#verdicts.get(promptId) ?? 0) + 1;
    this.#verdicts.set(promptId, count);
    this.#holds(count === 1, "P2", () => `${promptId} has ${count} verdicts`);
  }

  #reserved({ turnId, amountMicro }: SessionEvent<"credits_reserved">["data"]) {
    const money = this.#turns.get(turnId) ?? { reservedMicro: 0, isSettled: false };
    this.#holds(!money.isSettled, "P9", () => `${turnId} reserves after it was settled`);
    money.reservedMicro += amountMicro;
    this.#turns.set(turnId, money);
    const open = [...this.#turns.values()].filter(({ isSettled }) => !isSettled).length;
    this.#holds(open <= 1, "P9", () => `${open} reservations are open`);
  }

  #settled(data: SessionEvent<"credits_settled">["data"]) {
    const { turnId, reservedMicro, chargedMicro, releasedMicro } = data;
    const money = this.#turns.get(turnId);
    const isExact =
      money !== undefined &&
      !money.isSettled &&
      money.reservedMicro === reservedMicro &&
      reservedMicro === chargedMicro + releasedMicro;
    this.#holds(
      isExact,
      "P9",
      () => `${turnId}: ${JSON.stringify(data)} of ${money?.reservedMicro}`,
    );
    if (money !== undefined) money.isSettled = true;
  }

  #answered(requestId: string) {
    const isOpen = this.openAsks.delete(requestId);
    this.#holds(isOpen, "P4", () => `${requestId} was resolved and is not open`);
  }

  /** What holds between commits: each of them leaves the log whole. */
  #judgeTogether() {
    const { status } = this;
    const phase = this.#phase;
    if (hasTurn(status)) this.#holds(phase === "Active", "P4", () => `${status} in phase ${phase}`);
    const isOpen = [...this.#turns.values()].some(({ isSettled }) => !isSettled);
    this.#holds(isOpen === hasTurn(status), "P9", () => `${status}, reservation open: ${isOpen}`);
    const children = [...this.children.open.keys()];
    const isAtWork = children.length > 0;
    this.#holds(!isAtWork || hasTurn(status), "P5", () => `${status} with ${children} at work`);
    const asks = this.openAsks.size;
    this.#holds(asks === 0 || hasTurn(status), "P5", () => `${status} with ${asks} open asks`);
    this.#holds(asks <= 64, "P10", () => `${asks} open asks`);
  }

  #holds(isSo: boolean, promise: string, otherwise: () => string) {
    this.#judge.holds(isSo, promise, () => `${this.key.sessionId}: ${otherwise()}`);
  }
}

/** Few, so that agents often want more at once. */
export const SIMULATED_CHILDREN_MAX = 2;

/** What is said of a fork itself while it is made; all else is copied. */
const OF_DRAFTS: ReadonlySet<EventType> = new Set([
  "session_created",
  "session_status",
  "session_lifecycle",
]);
