import { DONE, fail, ok, type Result } from "../core/result.ts";

/** Where a store is in its life. Only an active one writes; an initialised one may be read. */
type StorePhase = "new" | "initialising" | "initialised" | "active" | "inactive" | "disposed";

/** Why it cannot be used. */
const SAYS: Readonly<Record<StorePhase, string>> = {
  new: "it has not been initialised",
  initialising: "it is still being initialised",
  initialised: "it is not the active store",
  active: "it is active already",
  inactive: "it has been deactivated",
  disposed: "it has been disposed of",
};

/** Names one beginning, so that what it started cannot be taken for the next one's. */
type Beginning = number;

/** The part of a store's life that all stores share. */
export class StoreLife {
  #phase: StorePhase = "new";
  #mayActivate = false;
  #beginning: Beginning = 0;

  /**
   * Begins to initialise, unless that is done or under way: a backend is opened once. After a
   * disposal a store may begin again.
   */
  begin(): Result<Beginning> {
    if (this.#phase === "initialised") return unavailable("it is already initialised");
    if (this.#phase !== "new" && this.#phase !== "disposed") return this.#refusal();
    this.#phase = "initialising";
    this.#beginning += 1;
    return ok(this.#beginning);
  }

  /** Refused if the store was ended meanwhile; then what was opened has to be shut again. */
  succeeded(beginning: Beginning, active: boolean): Result<void> {
    if (!this.#isCurrent(beginning)) return unavailable("it was ended while it was initialised");
    this.#phase = "initialised";
    this.#mayActivate = active;
    return DONE;
  }

  failed(beginning: Beginning) {
    if (this.#isCurrent(beginning)) this.#phase = "new";
  }

  activate(): Result<void> {
    if (this.#phase === "active") return DONE;
    if (this.#phase !== "initialised" || !this.#mayActivate) return this.#refusal();
    this.#phase = "active";
    return DONE;
  }

  deactivated() {
    if (this.#phase !== "new" && this.#phase !== "disposed") this.#phase = "inactive";
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

  #isCurrent(beginning: Beginning): boolean {
    return this.#phase === "initialising" && this.#beginning === beginning;
  }

  #refusal(): Result<never> {
    return unavailable(SAYS[this.#phase]);
  }
}

function unavailable(reason: string): Result<never> {
  return fail("store_unavailable", { reason });
}
