import { SECRETS_REPLACED_MAX } from "../../core/limits.ts";

/**
 * Secrets that no file and no agent has any more. They stay known for a while, because the last
 * words of an agent are still on their way, and people may repeat them. The oldest is forgotten
 * when there are too many, so that the guard keeps its headroom.
 */
export class RetiredSecrets {
  /** In the order in which they retired. Each stands for one `know`. */
  readonly #values = new Set<string>();
  readonly #forget: (value: string) => void;

  /** `forget` takes one `know` back. */
  constructor(forget: (value: string) => void) {
    this.#forget = forget;
  }

  /** The caller hands over one `know` of this value. */
  add(value: string) {
    if (this.#values.delete(value)) this.#forget(value);
    this.#values.add(value);
    const [oldest] = this.#values;
    if (this.#values.size <= SECRETS_REPLACED_MAX || oldest === undefined) return;
    this.#values.delete(oldest);
    this.#forget(oldest);
  }
}
