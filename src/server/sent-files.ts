import { refusal } from "../core/error.ts";
import type { TenantId } from "../core/id.ts";
import { FILES_SENT_MAX } from "../core/limits.ts";
import { type Answer, refused } from "./answer.ts";

/** The files that are on their way, by whose they are: nobody has the store to themselves (P10). */
export class SentFiles {
  readonly #counts = new Map<TenantId, number>();

  /** The answer as it is, counted until its end; or, if it is a file too many, a refusal. */
  counted(tenantId: TenantId, answer: Answer): Answer {
    if (answer.kind !== "file") return answer;
    const count = this.#counts.get(tenantId) ?? 0;
    if (count >= FILES_SENT_MAX) return refused(refusal("file_limit_exceeded", LIMIT));
    this.#counts.set(tenantId, count + 1);
    const { afterwards } = answer;
    return {
      ...answer,
      afterwards: (fate) => {
        this.#ended(tenantId);
        afterwards?.(fate);
      },
    };
  }

  #ended(tenantId: TenantId) {
    const left = (this.#counts.get(tenantId) ?? 1) - 1;
    if (left > 0) this.#counts.set(tenantId, left);
    else this.#counts.delete(tenantId);
  }
}

const LIMIT = { limit: FILES_SENT_MAX };
