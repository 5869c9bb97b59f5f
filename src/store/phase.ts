import { DONE, fail, type Result } from "./result.ts";

/** Where a store is in its life. Only an active one writes; an initialised one may be read. */
type StorePhase = "new" | "initialised" | "active" | "inactive" | "disposed";

const SAYS: Readonly<Record<StorePhase, string>> = {
  new: "it has not been initialised",
  initialised: "it is not the active store",
  active: "",
  inactive: "it has been deactivated",
  disposed: "it has been disposed of",
};

/** The part of a store's life that all stores share. */
export class StoreLife {
  #phase: StorePhase = "new";
  #mayActivate = false;

  /** After a disposal a store may begin again. */
  initialised(active: boolean) {
    this.#phase = "initialised";
    this.#mayActivate = active;
  }

  activate(): Result<void> {
    if (this.#phase === "active") return DONE;
    if (this.#phase !== "initialised") return this.#unavailable(this.#phase);
    if (!this.#mayActivate) return this.#unavailable("initialised");
    this.#phase = "active";
    return DONE;
  }

  deactivated() {
    if (this.#phase !== "new" && this.#phase !== "disposed") this.#phase = "inactive";
  }

  disposed() {
    this.#phase = "disposed";
  }

  get canBeInitialised(): boolean {
    return this.#phase === "new" || this.#phase === "disposed";
  }

  forReading(): Result<void> {
    const may = this.#phase === "initialised" || this.#phase === "active";
    return may ? DONE : this.#unavailable(this.#phase);
  }

  forWriting(): Result<void> {
    return this.#phase === "active" ? DONE : this.#unavailable(this.#phase);
  }

  #unavailable(phase: StorePhase): Result<never> {
    return fail("store_unavailable", { reason: SAYS[phase] });
  }
}
