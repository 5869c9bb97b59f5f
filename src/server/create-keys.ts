import { createHash } from "node:crypto";
import { z } from "zod";
import { parseClientId, parseSessionId, type TenantId } from "../core/id.ts";
import { IDEMPOTENCY_AGE_MS_MAX, IDEMPOTENCY_KEYS_MAX, SUBMIT_TRIES_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { Clock } from "../session/world.ts";
import type { SessionStore } from "../store/store.ts";
import { Turnstile } from "./turnstile.ts";

/** A create that somebody may send again, and what it came to. */
export interface KeptCreate extends z.output<typeof keptCreate> {}

const keptCreate = z.object({
  /** The caller and the key, as a hash: keys may be long, and tell something. */
  name: z.string(),
  /** Of the body, so that another one is known. */
  bodyHash: z.string(),
  sessionId: z.string().transform(orNever(parseSessionId)),
  clientId: z.string().transform(orNever(parseClientId)),
  attached: z.boolean(),
  atMs: z.number(),
});

const document = z.object({ creates: z.array(keptCreate) });

const KIND = "idempotency";
const KEY = "creates";

/**
 * The keys that sessions were made with, so that the same request, sent again, is answered with
 * the session that it made; also by the next server. A tenant's last ones are kept in one small
 * document. A key is written before its session is made, with the id that it will have: whenever
 * the server dies, the next one finds the session, or makes that one.
 */
export class CreateKeys {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #requests = new Turnstile();
  readonly #writes = new Turnstile();

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Requests with the same key are handled one after the other. */
  inTurn<Value>(tenantId: TenantId, name: string, act: () => Promise<Value>): Promise<Value> {
    return this.#requests.pass(JSON.stringify([tenantId, name]), act);
  }

  /** What the key stands for already, or what it stands for from now on. */
  async claim(tenantId: TenantId, wanted: Omit<KeptCreate, "atMs">): Promise<Result<Claim>> {
    const { name, bodyHash } = wanted;
    const claimed = { ...wanted, atMs: this.#clock.nowMs() };
    let known: KeptCreate | undefined;
    const written = await this.#change(tenantId, (creates) => {
      known = creates.find((one) => one.name === name);
      return known === undefined ? [...creates, claimed] : null;
    });
    if (!written.ok) return written;
    if (known === undefined) return ok({ ...claimed, isNew: true });
    return known.bodyHash === bodyHash
      ? ok({ ...known, isNew: false })
      : fail("idempotency_conflict");
  }

  /** It came to something else: a session that was there already. */
  correct(tenantId: TenantId, kept: KeptCreate): Promise<Result<void>> {
    return this.#change(tenantId, (creates) =>
      creates.map((one) => (one.name === kept.name ? kept : one)),
    );
  }

  /** It came to nothing, so the key may be used for something else. */
  forget(tenantId: TenantId, name: string): Promise<Result<void>> {
    return this.#change(tenantId, (creates) => creates.filter((one) => one.name !== name));
  }

  #change(tenantId: TenantId, change: Change): Promise<Result<void>> {
    return this.#writes.pass(tenantId, () => this.#changeNow(tenantId, change));
  }

  /** Another server may write the document at the same time: then it is read again. */
  async #changeNow(tenantId: TenantId, change: Change): Promise<Result<void>> {
    for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
      const found = await this.#store.readDocument(tenantId, KIND, KEY);
      if (!found.ok) return found;
      const changed = change(this.#recent(found.value?.value));
      if (changed === null) return DONE;
      const value = { creates: changed.slice(-IDEMPOTENCY_KEYS_MAX) };
      const expectedVersion = found.value?.version ?? 0;
      const write = { kind: KIND, key: KEY, expectedVersion, value };
      const written = await this.#store.writeDocument(tenantId, write);
      if (written.ok) return DONE;
      if (written.refusal.code !== "document_conflict") return written;
    }
    return fail("server_busy");
  }

  /** What cannot be read is not known, which makes no session unusable. */
  #recent(value: unknown): readonly KeptCreate[] {
    const since = this.#clock.nowMs() - IDEMPOTENCY_AGE_MS_MAX;
    const creates = document.safeParse(value).data?.creates ?? [];
    return creates.filter(({ atMs }) => atMs > since);
  }
}

interface Claim extends KeptCreate {
  /** Nobody has used this key before. */
  readonly isNew: boolean;
}

/** Null changes nothing. */
type Change = (creates: readonly KeptCreate[]) => readonly KeptCreate[] | null;

/** A key is its caller's own: nobody is answered with another's session. */
export function nameOfKey(caller: string | null, key: string): string {
  return hashOf([caller, key]);
}

export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function orNever<Id>(parse: (text: string) => Id | null) {
  return (text: string, context: z.RefinementCtx): Id => {
    const id = parse(text);
    if (id !== null) return id;
    context.addIssue({ code: "custom", message: "it is no id" });
    return z.NEVER;
  };
}
