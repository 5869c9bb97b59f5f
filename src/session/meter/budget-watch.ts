import type { Session } from "../../core/session/state.ts";
import type { SessionKey } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { usedByTurns, usedInAll } from "./allowance.ts";
import type { CreditWarning } from "./meter.ts";

/** What is watched, and who is told. */
interface WatchedSession {
  readonly key: SessionKey;
  /** As decided so far, which may be more than is durable. */
  readonly decided: Session;
}

/**
 * Sees when a session's own budget comes near, by what its turns and what is asked beside it were
 * charged; and what the ledger has found out about the budgets of its tenant and its users.
 */
export class BudgetWatch {
  readonly #world: SessionWorld;
  readonly #session: WatchedSession;
  readonly #announce: (warning: CreditWarning) => void;
  /** What was charged when it was last looked at; null if it has not been, with this budget. */
  #chargedMicro: number | null = null;

  constructor(
    world: SessionWorld,
    session: WatchedSession,
    announce: (warning: CreditWarning) => void,
  ) {
    this.#world = world;
    this.#session = session;
    this.#announce = announce;
  }

  /** So much was charged just now, for a turn or beside it. */
  async charged(amountMicro: number): Promise<void> {
    const now = await this.#look();
    if (now !== null) {
      const { chargedMicro, budgetMicro } = now;
      const before = this.#chargedMicro ?? chargedMicro - amountMicro;
      this.#chargedMicro = chargedMicro;
      this.#tell(warningOf("session", budgetMicro, before, chargedMicro));
    }
    const others = await this.#world.meter.settled(this.#session.key);
    for (const warning of others ?? []) this.#announce(warning);
  }

  /** It has another budget, of which it may have used nearly all already. */
  async budgetSet(toMicro: number | null): Promise<void> {
    this.#chargedMicro = null;
    const now = await this.#look();
    // If it is yet another one by now, that is looked at for itself.
    if (now === null || now.budgetMicro !== toMicro) return;
    const { chargedMicro, budgetMicro } = now;
    this.#chargedMicro = chargedMicro;
    this.#tell(standingWarningOf("session", budgetMicro, chargedMicro));
  }

  /** Null where there is no budget, or where the use of side questions is unknown. */
  async #look() {
    const { key, decided } = this.#session;
    if (decided.chosen.budgetMicro === null) return null;
    const beside = await this.#world.meter.usedBeside(key);
    if (!beside.ok) return null;
    const session = this.#session.decided;
    const { budgetMicro } = session.chosen;
    const { chargedMicro } = usedInAll(usedByTurns(session), beside.value);
    return { chargedMicro, budgetMicro };
  }

  #tell(warning: CreditWarning | null) {
    if (warning !== null) this.#announce(warning);
  }
}

/** How much of a budget may be used before people are warned. */
const WARNING_PERCENT = 80n;

/** If these charges have just passed the line at which a budget is nearly used up. */
export function warningOf(
  scope: CreditWarning["scope"],
  budgetMicro: number | null,
  beforeMicro: number,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null || beforeMicro >= lineOf(budgetMicro)) return null;
  return standingWarningOf(scope, budgetMicro, usedMicro);
}

/** If a budget is nearly used up as it stands; where nothing is used, there is nothing to say. */
function standingWarningOf(
  scope: CreditWarning["scope"],
  budgetMicro: number | null,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null || usedMicro === 0 || usedMicro < lineOf(budgetMicro)) return null;
  return { scope, usedMicro, budgetMicro };
}

function lineOf(budgetMicro: number): number {
  return Number((BigInt(budgetMicro) * WARNING_PERCENT + 99n) / 100n);
}
