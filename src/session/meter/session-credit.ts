import { type Refusal, refusal } from "../../core/error.ts";
import type { PromptId, TurnId, UserId } from "../../core/id.ts";
import { CREDIT_RETRY_MS } from "../../core/limits.ts";
import { NO_TOKENS } from "../../core/price.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { type Command, SERVER, type TurnStart, userOf } from "../../core/session/command.ts";
import { firstAnswer } from "../../core/session/decide/prompt.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { pendingCount, type WaitingPrompt } from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import { neededMicro } from "../../core/turn-cost.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { TryAgain } from "../actor/turn-queue.ts";
import type { Written } from "../actor/written.ts";
import { EVICTED } from "../eviction.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { announcementOf, BudgetWatch } from "./budget-watch.ts";
import {
  creditWait,
  isPoor,
  isSameWait,
  retryTimes,
  type WaitingForCredit,
} from "./credit-wait.ts";
import type { CreditWarning, ReservationRequest, TurnCredit } from "./meter.ts";
import { isRepriced, reservationRequest, wantsOf } from "./reservation-request.ts";

/** What a prompt is admitted with: what it begins with at once, or why it cannot be paid for. */
type Paid = Pick<Command<"prompt">, "start" | "unpaid" | "unpaidNow">;

/** Whether a prompt has to be judged before it goes to work. */
interface TurnJudging {
  readonly judgesTurns: boolean;
}

type CreditSeat = Pick<SessionSeat, "key" | "decided" | "submit">;

/** What a turn begins with, beside its id and its credits. */
type TurnWork = Omit<TurnStart, "turnId" | keyof TurnCredit>;

/**
 * Sees to a session's credits: no turn begins without them, one that passes what it has gets more
 * or ends, and what is not needed is given back. A prompt that cannot be paid for stays at the
 * head of the queue, and goes on when there is more to spend.
 */
export class SessionCredit implements Participant {
  readonly #world: SessionWorld;
  readonly #seat: CreditSeat;
  /** The head of the queue, while credits are being set aside for it. */
  #asking: PromptId | null = null;
  /** What was not enough, while the head of the queue waits for more. */
  #short: string | null = null;
  #callOffWait: CallOff = () => {};
  /** The waits of one prompt that clients were told of: one for each limit at the most. */
  #told: readonly WaitingForCredit[] = [];
  #waits: WaitingForCredit | null = null;
  readonly #budget: BudgetWatch;
  #isSlicing = false;
  #endPause: CallOff = () => {};
  /** The turn whose settlement the log has last told of. */
  #settled: TurnId | null = null;
  readonly #judges: TurnJudging | null;
  /** The turn of which the ledger may hold a slice that no log has. */
  #astray: TurnId | null = null;
  #isOver = false;

  constructor(world: SessionWorld, seat: CreditSeat, judges: TurnJudging | null = null) {
    this.#world = world;
    this.#seat = seat;
    this.#judges = judges;
    const warn = (warning: CreditWarning) => this.#announce(announcementOf(warning));
    this.#budget = new BudgetWatch(world, seat, warn);
  }

  /** Which prompt was found too dear last, and why; it may have begun since, or be gone. */
  get waitingForCredit(): WaitingForCredit | null {
    return this.#waits;
  }

  /** The ledger's share in a commit: what a verdict settles, in one piece with the verdict. */
  journal(step: CommitStep): readonly JournalEntry[] {
    if (step.kind !== "decision") return [];
    return this.#world.meter.entries(this.#seat.key, step.before, step.written);
  }

  /**
   * Gives a new prompt to the session with what it can begin with at once, or with why it cannot
   * be paid for. Nothing is reserved for one that has to wait; it is refused if it could not be
   * paid for even if all that is reserved by then were free again. Whether another prompt has come
   * before it in the meantime only the session knows, so that one is told both.
   */
  async admit<Answer extends { readonly refusal: Refusal | null }>(
    prompt: Command<"prompt">,
    give: (paid: Command<"prompt">) => Promise<Answer>,
  ): Promise<Answer> {
    const weighed = this.#paid(prompt);
    // Where nothing has to be weighed, nothing is waited for.
    const paid = weighed instanceof Promise ? await weighed : weighed;
    let refused: Refusal | null = UNANSWERED;
    try {
      const answer = await give({ ...prompt, ...paid });
      refused = answer.refusal;
      return answer;
    } finally {
      await this.#admitted(paid.start, refused);
    }
  }

  #paid(prompt: Command<"prompt">): Paid | Promise<Paid> {
    const session = this.#seat.decided;
    const turnId = this.#world.ids.turn();
    const order = this.#order(turnId, userOf(prompt.actor));
    const { meter } = this.#world;
    const isJudged = this.#judges?.judgesTurns === true;
    const weighed = async (refused: Refusal | null): Promise<Paid> => {
      const can = await meter.afford(order, "settled");
      if (!can.ok) return { unpaid: can.refusal };
      return refused === null ? {} : { unpaidNow: refused };
    };
    if (!meter.isFree(order)) {
      // A repeat is answered as it was the first time, even if less is left by now; and what
      // a line with a slash means, and whether that costs anything, is found out when it is next.
      const isNew = firstAnswer(session, prompt, prompt.idempotency) === null;
      if (!isNew || slashTextOf(prompt.content) !== null) return {};
      // Its price is not known yet.
      if (isRepriced(session, order.userId)) return {};
      if (pendingCount(session) > 0) return weighed(null);
      if (isJudged || session.connection.sessionState !== "ready") {
        return meter.afford(order).then((can) => (can.ok ? {} : weighed(can.refusal)));
      }
    }
    if (isJudged) return {};
    const start = (credit: Result<TurnCredit>) =>
      credit.ok ? { start: { turnId, ...credit.value } } : weighed(credit.refusal);
    const credit = meter.reserve(order);
    return credit instanceof Promise ? credit.then(start) : start(credit);
  }

  /** Releases what was reserved for a prompt that did not begin with it. */
  async #admitted(start: TurnStart | undefined, refused: Refusal | null): Promise<void> {
    if (start === undefined || start.reservedMicro === 0) return;
    const { meter } = this.#world;
    if (refused !== null && refused !== EVICTED && isUnknown(refused)) meter.leave(start.turnId);
    else await meter.giveBackUnbegun(this.#seat.key, start.turnId);
  }

  /** Whether a turn of this user could be paid for once all that is reserved is settled. */
  async affordable(userId: UserId | null): Promise<Result<void>> {
    const order = this.#order(this.#world.ids.turn(), userId);
    const { meter } = this.#world;
    return meter.isFree(order) ? DONE : meter.afford(order, "settled");
  }

  #order(turnId: TurnId, userId: UserId | null): ReservationRequest {
    return reservationRequest(this.#seat.key, this.#seat.decided, { turnId, userId });
  }

  /** Begins the turn of the head of the queue, at once if nothing has to be weighed. */
  begin(prompt: WaitingPrompt, work: TurnWork, again: TryAgain) {
    const session = this.#seat.decided;
    const wants = wantsOf(session, prompt);
    if (this.#asking !== null || this.#short === wants) return;
    this.#endWait();
    if (this.#waits?.promptId !== prompt.promptId) this.#waits = null;
    const turnId = this.#world.ids.turn();
    const order = this.#order(turnId, prompt.userId);
    // A turn of a tool asks no model, so there is nothing to pay for.
    const credit = work.slash === "tool" ? ok(NO_CREDIT) : this.#world.meter.reserve(order);
    if (!(credit instanceof Promise)) {
      if (!credit.ok) return this.#wait(prompt, wants, credit.refusal, again);
      this.#waits = null;
      void this.#start(prompt.promptId, { ...work, ...credit.value, turnId });
      return;
    }
    this.#asking = prompt.promptId;
    void credit.then((answer) => {
      this.#asking = null;
      if (!answer.ok) return this.#wait(prompt, wants, answer.refusal, again);
      this.#waits = null;
      return this.#granted(prompt.promptId, order, { ...work, ...answer.value }, again);
    });
  }

  /** What the log says now: a turn that began, or ended, or has used more than it has. */
  durable(written: readonly Written[]) {
    for (const { event } of written) this.#react(event);
  }

  #react(event: SessionEvent) {
    if (event.type === "credits_reserved" && event.data.n === 0) {
      this.#world.meter.begun(event.data.turnId);
    } else if (mayNeedMore(event)) {
      this.#sliceIfShort();
    } else if (event.type === "credits_settled") {
      this.#settled = event.data.turnId;
      this.#giveBackAstray();
      void this.#budget.charged(event.data.chargedMicro);
    } else if (event.type === "session_budget_changed") {
      void this.#budget.budgetSet("total", event.data.to);
    } else if (event.type === "session_month_budget_changed") {
      void this.#budget.budgetSet("month", event.data.to);
    }
  }

  /** Something that was asked beside the session was charged. */
  asideCharged(amountMicro: number): Promise<void> {
    return this.#budget.charged(amountMicro);
  }

  end() {
    this.#isOver = true;
    this.#endWait();
    this.#endPause();
  }

  /** Credits are set aside; if the turn cannot begin any more, they are given back. */
  async #granted(
    promptId: PromptId,
    { key, turnId }: ReservationRequest,
    start: Omit<TurnStart, "turnId">,
    again: TryAgain,
  ): Promise<void> {
    const { meter } = this.#world;
    if (this.#isOver) return meter.giveBack(key, turnId);
    const refused = await this.#start(promptId, { ...start, turnId });
    if (refused === null) return;
    // What the store did not confirm is looked up in the log when it is opened next.
    if (isUnknown(refused)) return meter.leave(turnId);
    await meter.giveBack(key, turnId);
    if (refused.code === "prompt_not_next" && !this.#isOver) again();
  }

  #wait(prompt: WaitingPrompt, wants: string, refusal: Refusal, again: TryAgain) {
    if (this.#isOver) return;
    // It was weighed by what is not so any more.
    if (wantsOf(this.#seat.decided, prompt) !== wants) return void again();
    const { tenantId } = this.#seat.key;
    const { code } = refusal;
    this.#short = wants;
    const wake = () => {
      this.#endWait();
      // While it is tried again, which may take a read, it is said to wait as before.
      if (!again()) this.#waits = null;
    };
    const { clock, meter } = this.#world;
    const ends = [
      ...(isPoor(code) ? [meter.whenRaised(tenantId, wake)] : []),
      ...retryTimes(refusal, clock.nowMs()).map((ms) => clock.after(ms, wake)),
    ];
    this.#callOffWait = () => {
      for (const end of ends) end();
    };
    this.#tellWait(prompt, refusal);
  }

  /** A wait is told once, and not whenever it is tried in vain. */
  #tellWait({ promptId }: WaitingPrompt, refusal: Refusal) {
    const wait = creditWait(refusal);
    this.#waits = wait && { promptId, ...wait };
    const told = this.#told.filter((wait) => wait.promptId === promptId);
    if (this.#waits !== null && told.some((wait) => isSameWait(wait, this.#waits))) return;
    const { sessionId } = this.#seat.key;
    this.#world.log("turn waits for credits", { sessionId, because: refusal.code });
    if (this.#waits === null) return;
    this.#told = [...told, this.#waits];
    this.#announce({ announcement: { type: "credits_waiting", data: this.#waits } });
  }

  #start(promptId: PromptId, start: TurnStart): Promise<Refusal | null> {
    return this.#seat.submit({ ...this.#server(), type: "begin_turn", promptId, start });
  }

  #endWait() {
    this.#short = null;
    this.#callOffWait();
    this.#callOffWait = () => {};
  }

  #sliceIfShort() {
    const { connection, running } = this.#seat.decided;
    const reservation = connection.turn.currentReservation;
    if (reservation === null || running === null || running.stopCause !== null) return;
    const missingMicro = neededMicro(connection.turn) - reservation.reservedMicro;
    if (missingMicro <= 0 || this.#isSlicing || this.#isOver) return;
    const { turnId, slices: n, price } = reservation;
    const order = this.#order(turnId, running.userId);
    if (this.#world.meter.isFree(order)) return;
    this.#isSlicing = true;
    void this.#slice(order, { n, price, missingMicro }).finally(() => {
      this.#isSlicing = false;
      this.#sliceIfShort();
    });
  }

  async #slice(order: ReservationRequest, slice: Parameters<SessionWorld["meter"]["slice"]>[1]) {
    const { turnId } = order;
    const given = await this.#world.meter.slice(order, slice);
    if (!given.ok) return this.#notSliced(order, given.refusal);
    const more = { turnId, n: slice.n, amountMicro: given.value };
    const refused = await this.#seat.submit({ ...this.#server(), type: "reserve_slice", ...more });
    if (refused !== null) await this.#goneAstray(turnId);
  }

  /** It is asked for again after a while, if the turn goes on; then it stands there already. */
  async #goneAstray(turnId: TurnId): Promise<void> {
    this.#astray = turnId;
    this.#giveBackAstray();
    await this.#pause();
  }

  /** A while; no longer than the session is there. */
  async #pause(): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>((go) => {
      const callOff = this.#world.clock.after(CREDIT_RETRY_MS, go);
      this.#endPause = () => {
        callOff();
        go();
      };
    });
  }

  /**
   * What the verdict of a turn did not know of belongs to no turn. It is given back when the
   * settlement is in the log, and not before: else that would release the same again.
   */
  #giveBackAstray() {
    const turnId = this.#astray;
    if (turnId === null || turnId !== this.#settled) return;
    this.#astray = null;
    void this.#world.meter.giveBack(this.#seat.key, turnId);
  }

  async #notSliced({ turnId }: ReservationRequest, { code }: Refusal): Promise<void> {
    if (isPoor(code)) {
      const by = this.#server();
      await this.#seat.submit({ ...by, type: "limit_passed", turnId, limit: "budget" });
      return;
    }
    // It may stand in the ledger all the same.
    await this.#goneAstray(turnId);
  }

  #announce(news: Pick<Command<"announce">, "announcement" | "figures">) {
    if (this.#isOver) return;
    void this.#seat.submit({ ...this.#server(), type: "announce", ...news });
  }

  #server() {
    return stampedBy(this.#world.clock, SERVER);
  }
}

/** What costs nothing, and is known to. */
const NO_CREDIT: TurnCredit = {
  reservedMicro: 0,
  price: { ...NO_TOKENS, perTurn: 0 },
  model: null,
};

/** The outcome of a command that threw: the log will tell what came of it. */
const UNANSWERED: Refusal = refusal("store_unavailable", {
  reason: "the command was not answered",
});

/** A tool call is work of which an agent may tell no figures yet. */
function mayNeedMore({ type, data }: SessionEvent): boolean {
  if (type === "usage_reported" || type === "credits_reserved") return true;
  if (type === "child_session_started" || type === "child_usage_reported") return true;
  if (type !== "session_update") return false;
  const { sessionUpdate } = data.update;
  return sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
}

/** Whether it is unknown what came of a command. */
function isUnknown({ code }: Refusal): boolean {
  return code === "store_unavailable";
}
