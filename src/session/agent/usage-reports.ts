import type { TurnId } from "../../core/id.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import type { Price } from "../../core/price.ts";
import { type Actor, SERVER } from "../../core/session/command.ts";
import type { SuspectReason, UsageSuspicion } from "../../core/session/credit-event.ts";
import { cutText } from "../../core/text.ts";
import type { ContextUsage } from "../../core/turn.ts";
import { costDisagrees } from "../../core/turn-cost.ts";
import type { SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

type UsageSeat = Pick<SessionSeat, "key" | "decided" | "submit">;

/**
 * Gives an agent's figures to its session, with the price of the model that the agent has named.
 * Figures that cannot be right are logged and told to all clients, each reason once in a turn.
 */
export class UsageReports {
  readonly #world: SessionWorld;
  readonly #seat: UsageSeat;
  readonly #agent: Actor;
  /** The turn that was told of last, and the reasons that were. */
  #told: { readonly turnId: TurnId | null; readonly reasons: Set<SuspectReason> } = {
    turnId: null,
    reasons: new Set(),
  };
  /** The turn whose price is no longer the one that it began with. */
  #repricedTurn: TurnId | null = null;

  constructor(world: SessionWorld, seat: UsageSeat, agent: Actor) {
    this.#world = world;
    this.#seat = seat;
    this.#agent = agent;
  }

  usage(turnId: TurnId, usage: ContextUsage) {
    const price = this.#priceFor(turnId, usage);
    const by = stampedBy(this.#world.clock, this.#agent);
    void this.#seat.submit({ ...by, type: "usage", turnId, usage, ...(price && { price }) });
    const { currentReservation } = this.#seat.decided.connection.turn;
    if (currentReservation === null || !costDisagrees(currentReservation.price, usage)) return;
    const detail = `the agent says that the turn cost ${usage.costMicro} micro-credits`;
    this.suspect({
      reason: "cost_disagrees",
      detail: `${detail}, and tells far fewer tokens`,
      turnId,
    });
  }

  suspect(suspicion: UsageSuspicion) {
    const { reason, detail, turnId = null } = suspicion;
    if (this.#told.turnId !== turnId) this.#told = { turnId, reasons: new Set() };
    if (this.#told.reasons.has(reason)) return;
    this.#told.reasons.add(reason);
    const { sessionId } = this.#seat.key;
    const agent = this.#seat.decided.chosen.activeAgent;
    this.#world.log("usage suspect", { sessionId, agent, because: reason, said: detail });
    const by = stampedBy(this.#world.clock, SERVER);
    const announcement = { type: "usage_suspect", data: suspicion } as const;
    void this.#seat.submit({ ...by, type: "announce", announcement });
  }

  /** Undefined if the turn's own price goes on. */
  #priceFor(turnId: TurnId, { model }: ContextUsage): Price | undefined {
    const { chosen, connection } = this.#seat.decided;
    const reservation = connection.turn.currentReservation;
    if (reservation === null || model === null) return undefined;
    const isRepriced = this.#repricedTurn === turnId;
    if (model === reservation.model && !isRepriced) return undefined;
    const price = this.#world.meter.priceOf(chosen.activeAgent, model);
    if (price !== null) {
      if (isSame(price, reservation.price) && !isRepriced) return undefined;
      this.#repricedTurn = turnId;
      return price;
    }
    const shown = cutText(model, AGENT_NAME_CHARS_MAX);
    const detail = `no price for the model "${shown}" that the agent names`;
    if (reservation.price !== null) {
      this.suspect({ reason: "model_without_price", detail, turnId });
    }
    return undefined;
  }
}

function isSame(one: Price, other: Price | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
