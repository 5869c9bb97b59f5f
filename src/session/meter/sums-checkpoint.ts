import type { TenantId } from "../../core/id.ts";
import { LEDGER_ENTRIES_UNSUMMED_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { documentOf, noSums, readSums, type Sums } from "./sums.ts";

/** The kind and key of the document that has the sums. */
const SUMS = { kind: "credits", key: "sums" } as const;

/** The sums of a ledger, written down now and then so that opening reads little of the journal. */
export class SumsCheckpoint {
  readonly #store: SessionStore;
  readonly #tenantId: TenantId;
  #seq = 0;
  #version = 0;

  constructor(store: SessionStore, tenantId: TenantId) {
    this.#store = store;
    this.#tenantId = tenantId;
  }

  /** Empty sums if there are none to be read: then the journal is read from its beginning. */
  async read(): Promise<Result<Sums>> {
    const found = await this.#store.readDocument(this.#tenantId, SUMS.kind, SUMS.key);
    if (!found.ok) return found;
    this.#version = found.value?.version ?? 0;
    const sums = (found.value && readSums(found.value.value)) ?? noSums();
    this.#seq = sums.seq;
    return ok(sums);
  }

  /** The journal had to be read for these sums, so that they are written with the next entries. */
  hurry() {
    this.#seq -= LEDGER_ENTRIES_UNSUMMED_MAX;
  }

  /** That it fails is no harm: the journal has it all, and is read from further back. */
  async write(sums: Sums): Promise<void> {
    if (sums.seq - this.#seq < LEDGER_ENTRIES_UNSUMMED_MAX) return;
    this.#seq = sums.seq;
    const value = documentOf(sums);
    if (value === null) return;
    const document = { ...SUMS, expectedVersion: this.#version, value };
    const written = await this.#store.writeDocument(this.#tenantId, document);
    if (written.ok) this.#version = written.value.version;
    else if (written.refusal.code === "document_conflict") await this.#rereadVersion();
  }

  /** Another server has written its sums; the next ones of ours go over them. */
  async #rereadVersion(): Promise<void> {
    const found = await this.#store.readDocument(this.#tenantId, SUMS.kind, SUMS.key);
    if (found.ok) this.#version = found.value?.version ?? 0;
  }
}
