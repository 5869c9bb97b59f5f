import { type ContentBlock, promptText } from "../../src/core/agent-update.ts";
import type { TenantId } from "../../src/core/id.ts";
import { parseTenantId } from "../../src/core/id.ts";
import { SecretGuard } from "../../src/store/index.ts";
import type { Chance, Some } from "./chance.ts";
import { type CountedIds, made } from "./fresh-ids.ts";

/** The tenants that a life may have. Most lives have the first one only. */
export const TENANTS: Some<TenantId> = [made(parseTenantId, "ada"), made(parseTenantId, "bob")];

/** A value that Fermata has resolved. It is long enough to be one, and no JSON has to escape it. */
const SECRET = "open-sesame-4711";
const SECRET_PIECES = ["open-", "sesame", "-4711"] as const;

/** What begins the words that are said aside, and must stay there. */
export const ASIDE = "aside";

/** What people and agents say. Every text is said once, and shows whose it is. */
export class Words {
  readonly #chance: Chance;
  readonly #ids: CountedIds;
  /** Whether an agent or client in this life knows the secret and cannot keep it. */
  readonly hasSecret: boolean;
  readonly guard = new SecretGuard();

  constructor(chance: Chance, ids: CountedIds) {
    this.#chance = chance;
    this.#ids = ids;
    this.hasSecret = chance.happens(0.3);
    if (this.hasSecret) this.guard.know(SECRET);
  }

  text(kind: string, tenantId: TenantId): string {
    const text = `${this.#ids.text(kind)} of ${tenantId}`;
    const isTold = this.hasSecret && this.#chance.happens(0.1);
    return isTold ? `${text}: ${SECRET}` : text;
  }

  /** Some text; the secret may be in it, and then it comes in pieces that look like nothing. */
  pieces(kind: string, tenantId: TenantId): readonly string[] {
    const text = `${this.#ids.text(kind)} of ${tenantId}`;
    const isTold = this.hasSecret && this.#chance.happens(0.3);
    return isTold ? [text, ...SECRET_PIECES] : [text];
  }

  /** A text without the secret; the very same text if it has none. */
  redact = (text: string): string => {
    return this.hasSecret && text.includes(SECRET) ? text.replaceAll(SECRET, REDACTED) : text;
  };

  /** What an extension may come to know, too; nothing where there is no secret. */
  get secret(): string {
    return this.hasSecret ? SECRET : "";
  }

  leaks(text: string): boolean {
    return this.hasSecret && text.includes(SECRET);
  }
}

/** Whether a prompt is a question beside the conversation: those begin in one of two ways. */
export function isAside(content: readonly ContentBlock[]): boolean {
  return /^(A question by the way|I have been away)/.test(promptText(content));
}

/** The words of another tenant that a text has; null if it has none. */
export function foreignWords(text: string, tenantId: TenantId): string | null {
  const foreign = TENANTS.find((one) => one !== tenantId && text.includes(` of ${one}`));
  return foreign === undefined ? null : `words of ${foreign}`;
}

const REDACTED = "[redacted]";
