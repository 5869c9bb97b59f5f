import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import { streamError } from "../../session/bus/notice.ts";
import type { CallOff, Clock } from "../../session/world.ts";
import type { EventSource } from "../stream/event-stream.ts";

/**
 * A source whose reader is asked now and then who they are. A stream outlives the request that
 * opened it, so without this a token that is revoked would go on to show what happens.
 */
export class WatchedSource implements EventSource {
  readonly ending?: Promise<void>;
  readonly #source: EventSource;
  readonly #mayGoOn: () => Promise<boolean>;
  readonly #clock: Clock;
  #callOff: CallOff = () => {};
  #isOver = false;

  constructor(source: EventSource, mayGoOn: () => Promise<boolean>, clock: Clock) {
    this.#source = source;
    this.#mayGoOn = mayGoOn;
    this.#clock = clock;
    if (source.ending !== undefined) this.ending = source.ending;
    this.#lookLater();
  }

  next() {
    return this.#source.next();
  }

  cancel() {
    this.#stopLooking();
    this.#source.cancel();
  }

  end(last: Parameters<EventSource["end"]>[0]) {
    this.#stopLooking();
    this.#source.end(last);
  }

  #lookLater() {
    this.#callOff = this.#clock.after(STREAM_RECHECK_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const mayGoOn = await this.#mayGoOn();
    if (this.#isOver) return;
    if (mayGoOn) this.#lookLater();
    else this.end(streamError("Unauthorized", "unauthorized"));
  }

  #stopLooking() {
    this.#isOver = true;
    this.#callOff();
  }
}
