import type { ErrorCode, Refusal } from "../core/error.ts";
import type { SessionId } from "../core/id.ts";
import { STORE_BYTES_WAITING_MAX } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Backend } from "./backend.ts";
import { type InputCheck, shaped, weightOf } from "./check.ts";
import type { StoreLife } from "./lifecycle.ts";
import type { SessionLocator } from "./locator.ts";
import { type Redacted, type Redaction, redactWrite } from "./redaction.ts";
import type { SecretGuard } from "./secret.ts";
import { type SecretPatterns, secretPatterns } from "./secret-filter.ts";
import type { Commit, JournalEntry, SessionKey, SessionStore } from "./store.ts";

/** What a server has its store do around each operation. A step that is not given is left out. */
export interface StoreSteps {
  /** Keeps secrets out of everything that is written (P11). */
  readonly guard?: SecretGuard;
  /** Receives each redaction that was written: its sender had not redacted the text. */
  onRedacted?(redaction: Redaction): void;
  /** Tells callers if another store has the session that this one does not have. */
  readonly location?: {
    readonly locator: SessionLocator;
    /** Whether sessions outlive the process. Only then the locator notes which store has them. */
    readonly isLasting: boolean;
  };
  /** Takes the reasons that name a path of the server; callers are referred to the log. */
  readonly log?: Log;
}

export type Operation = Exclude<keyof SessionStore, "contract">;

/** One write: what of it is scanned for secrets and how, its checks, and the write itself. */
export interface Write<Value> {
  /** Fields of Fermata's own: a secret in one of them refuses the write. */
  fields?(): unknown;
  /** Texts of agents and clients, in which secrets are redacted. */
  content?(): Commit;
  check(clean: Commit): readonly InputCheck[];
  act(clean: Commit): Promise<Result<Value>>;
}

/** Whose write it is: a session's, or a tenant's. */
type WriteTarget = Pick<SessionKey, "tenantId"> & { readonly sessionId?: SessionId };

/** Whether a store may be read or written in its present phase. */
type StorePhases = Pick<StoreLife, "forReading" | "forWriting">;

/**
 * The path that each operation of a store takes: the store's phase, secrets, checks, the backend,
 * then where a missing session is, and what of a refusal callers may see. Nothing is thrown.
 */
export class OperationPath {
  readonly #storeId: string;
  readonly #life: StorePhases;
  readonly #backend: Pick<Backend, "explain">;
  readonly #steps: StoreSteps;
  #bytesWaiting = 0;

  constructor(
    storeId: string,
    life: StorePhases,
    backend: Pick<Backend, "explain">,
    steps: StoreSteps,
  ) {
    this.#storeId = storeId;
    this.#life = life;
    this.#backend = backend;
    this.#steps = steps;
  }

  async read<Value>(
    operation: Operation,
    checks: readonly InputCheck[],
    act: () => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    try {
      const may = this.#life.forReading();
      const fit = may.ok ? weightOf(checks) : may;
      return this.#shown(operation, fit.ok ? await act() : fit);
    } catch (thrown) {
      return this.#shown(operation, this.explained(thrown));
    }
  }

  async write<Value>(
    operation: Operation,
    target: WriteTarget,
    write: Write<Value>,
  ): Promise<Result<Value>> {
    try {
      return this.#shown(operation, await this.#written(target, write));
    } catch (thrown) {
      return this.#shown(operation, this.explained(thrown));
    }
  }

  /** What waits is bounded by its bytes, so that a slow disk is noticed before memory is gone. */
  async #written<Value>(target: WriteTarget, write: Write<Value>): Promise<Result<Value>> {
    const may = this.#life.forWriting();
    const scanned = may.ok ? this.#scanned(write) : may;
    if (!scanned.ok) return scanned;
    const { clean, where } = scanned.value;
    const weight = weightOf(write.check(clean));
    if (!weight.ok) return weight;
    if (this.#bytesWaiting + weight.value > STORE_BYTES_WAITING_MAX) {
      return fail("store_unavailable", { reason: "too much is waiting to be written" });
    }
    this.#bytesWaiting += weight.value;
    try {
      const written = await write.act(clean);
      if (written.ok && where.length > 0) this.#tellRedacted(target, where);
      return written;
    } finally {
      this.#bytesWaiting -= weight.value;
    }
  }

  #scanned<Value>({ fields, content }: Write<Value>): Result<Redacted<Commit>> {
    const { guard } = this.#steps;
    return shaped(() => {
      const texts = content === undefined ? NO_CONTENT : content();
      if (guard === undefined) return ok({ clean: texts, where: NOWHERE });
      return redactWrite(fields?.(), texts, guard);
    });
  }

  /** What the guard looks for; a store without one looks for nothing. */
  get secrets(): SecretPatterns {
    return this.#steps.guard?.patterns ?? NO_SECRETS;
  }

  #tellRedacted({ tenantId, sessionId }: WriteTarget, where: readonly string[]) {
    try {
      this.#steps.onRedacted?.({ tenantId, sessionId: sessionId ?? null, where });
    } catch {
      // It is written already, so a listener that fails must not make it look as if it were not.
    }
  }

  /** The locator, if it is to know of this store's sessions. */
  get notes(): SessionLocator | null {
    const { location } = this.#steps;
    return location?.isLasting ? location.locator : null;
  }

  /** The locator notes a session while it is made, if it is to know of it. */
  noted<Made>(key: SessionKey, making: Promise<Result<Made>>): Promise<Result<Made>> {
    return this.notes?.noteMade(key, this.#storeId, making) ?? making;
  }

  /** Why a session is missing: the locator may know that another store has it. */
  async located<Value>(key: SessionKey, answering: Promise<Result<Value>>): Promise<Result<Value>> {
    const answer = await answering;
    const { location } = this.#steps;
    if (answer.ok || location === undefined) return answer;
    if (answer.refusal.code !== "session_not_found") return answer;
    return location.locator.explainMissing(key, this.#storeId);
  }

  /** What callers see of a refusal: where files are is for the operator, who has the log. */
  #shown<Value>(operation: Operation, answer: Result<Value>): Result<Value> {
    const { log } = this.#steps;
    if (answer.ok || log === undefined || !namesPath(answer.refusal)) return answer;
    const { code, details } = answer.refusal;
    log("store failed", { operation, code, reason: `${details.reason}` });
    return fail(code, { ...details, reason: "the server's log says why" });
  }

  /** What a thrown error means, without the secrets that its message may have in it. */
  explained(thrown: unknown): Result<never> {
    const answer = this.#backend.explain(thrown);
    const reason = answer.ok ? null : answer.refusal.details.reason;
    if (answer.ok || typeof reason !== "string") return answer;
    const { code, details } = answer.refusal;
    return fail(code, { ...details, reason: this.#steps.guard?.redact(reason) ?? reason });
  }
}

/** The content of a write that brings only entries for journals. */
export function onlyJournal(journal: readonly JournalEntry[]): Commit {
  return { afterEventId: 0, events: [], journal };
}

const NO_SECRETS = secretPatterns([]);

const NO_CONTENT = onlyJournal([]);

const NOWHERE: readonly string[] = [];

/** Their reasons are messages of the disk, the database or the system. */
const TECHNICAL: ReadonlySet<ErrorCode> = new Set(["store_unavailable", "session_corrupt"]);

/** The beginning of an absolute path, on any system. */
const PATH = /(?:^|[^\w.])(?:\/|[A-Za-z]:\\|\\\\)[^\s/]/;

function namesPath({ code, details: { reason } }: Refusal): boolean {
  return TECHNICAL.has(code) && typeof reason === "string" && PATH.test(reason);
}
