import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Clock } from "../../session/world.ts";

/** The keys cannot be had, which says nothing about any token. */
export class KeySetAway extends Error {}

/** A key that is not among those that were had a moment ago; it may have been added since. */
export class KeyUnknownYet extends Error {}

/** Where keys come from, and how often they are asked for there. */
interface KeySource {
  load(): Promise<JSONWebKeySet>;
  /** How long they are believed to be the same. */
  readonly keptMs: number;
  /** How soon one that is not among them may have them asked for again. */
  readonly retryMs: number;
  /** How long a source is left alone that has failed: anybody can send unknown keys' tokens. */
  readonly failedMs: number;
}

type Keys = ReturnType<typeof createLocalJWKSet>;

/** Keys for JWTs as they are now, or were a little while ago. */
export class KeptKeys {
  readonly #source: KeySource;
  readonly #clock: Pick<Clock, "nowMs">;
  #keys: Keys | null = null;
  #loadedAtMs: number | null = null;
  #failedAtMs: number | null = null;
  #loading: Promise<Keys> | null = null;

  constructor(source: KeySource, clock: Pick<Clock, "nowMs">) {
    this.#source = source;
    this.#clock = clock;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { keptMs, retryMs } = this.#source;
    const keys = this.#isWithin(this.#loadedAtMs, keptMs) ? this.#keys : null;
    try {
      return await (keys ?? (await this.load()))(header, token);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      // The keys were asked for because of this one, so there is nothing newer to be had.
      if (keys === null) throw thrown;
      if (this.#isWithin(this.#loadedAtMs, retryMs)) throw new KeyUnknownYet("it is not known yet");
      return (await this.load())(header, token);
    }
  };

  /** Asks for them, once for all who want them now. */
  load(): Promise<Keys> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load(): Promise<Keys> {
    if (this.#isWithin(this.#failedAtMs, this.#source.failedMs)) {
      throw new KeySetAway("it just failed");
    }
    try {
      const keys = createLocalJWKSet(await this.#source.load());
      this.#keys = keys;
      this.#loadedAtMs = this.#clock.nowMs();
      return keys;
    } catch (thrown) {
      this.#failedAtMs = this.#clock.nowMs();
      throw new KeySetAway("the keys cannot be had", { cause: thrown });
    }
  }

  /** What was in the future, because the clock was set back, was not a moment ago. */
  #isWithin(sinceMs: number | null, ms: number): boolean {
    if (sinceMs === null) return false;
    const ageMs = this.#clock.nowMs() - sinceMs;
    return ageMs >= 0 && ageMs < ms;
  }
}
