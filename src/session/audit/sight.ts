import type { SessionId } from "../../core/id.ts";
import { isObject, objectAt } from "../../core/json.ts";
import { AUDIT_SESSIONS_REMEMBERED_MAX } from "../../core/limits.ts";
import { type Audience, isVisibleTo, type Viewer } from "../../core/session/visibility.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { JournalRow, SessionStore } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { deletionKey } from "./entries.ts";

export type SightStore = Pick<SessionStore, "readJournal" | "readRecord">;

/** The audience of a session that there is, and since when there is one of this id. */
interface KnownAudience {
  readonly audience: Audience;
  readonly createdAtMs: number;
}

/**
 * Which sessions a viewer sees, for reports that name many. Owners see all. Of others it remembers
 * what it found, for one report. What cannot be found out counts as not seen (P8).
 */
export class SessionSight {
  readonly #store: SightStore;
  readonly #viewer: Viewer;
  readonly #peek: (sessionId: SessionId) => LiveSession | null;
  readonly #present = new BoundedMap<SessionId, KnownAudience | null>(
    AUDIT_SESSIONS_REMEMBERED_MAX,
  );
  readonly #deleted = new BoundedMap<string, boolean | null>(AUDIT_SESSIONS_REMEMBERED_MAX);

  constructor(
    store: SightStore,
    viewer: Viewer,
    peek: (sessionId: SessionId) => LiveSession | null,
  ) {
    this.#store = store;
    this.#viewer = viewer;
    this.#peek = peek;
  }

  /** Whether the viewer sees this session, or saw it before it was deleted. */
  async sees(sessionId: SessionId): Promise<boolean> {
    if (this.#viewer.role === "owner") return true;
    const known = await this.#known(sessionId);
    if (known !== null) return isVisibleTo(known.audience, this.#viewer);
    const query = { journal: "audit", sessionId, after: 0, limit: 1 } as const;
    const page = await this.#store.readJournal(this.#viewer.tenantId, query);
    const [first] = page.ok ? page.value.rows : [];
    return first !== undefined && this.seesEntry(first);
  }

  /**
   * Whether the viewer sees the session of an audit entry. Entries outlive their session: those of
   * a deleted one are seen by those who saw it, also if there is another of the same id now.
   */
  async seesEntry({ sessionId, key, atMs }: JournalRow): Promise<boolean> {
    if (this.#viewer.role === "owner" || sessionId === null) return true;
    const [, epoch = ""] = key.split(" ");
    const ofDeleted = await this.#sawDeleted(sessionId, epoch);
    if (ofDeleted !== null) return ofDeleted;
    const known = await this.#known(sessionId);
    if (known === null || atMs < known.createdAtMs) return false;
    return isVisibleTo(known.audience, this.#viewer);
  }

  async #known(sessionId: SessionId): Promise<KnownAudience | null> {
    const known = this.#present.get(sessionId);
    if (known !== undefined) return known;
    const found = await this.#find(sessionId);
    this.#present.set(sessionId, found);
    return found;
  }

  async #find(sessionId: SessionId): Promise<KnownAudience | null> {
    const live = this.#peek(sessionId)?.session ?? null;
    if (live !== null) {
      const { fixed, chosen } = live;
      return { audience: chosen.audience ?? null, createdAtMs: fixed.createdAtMs };
    }
    const key = { tenantId: this.#viewer.tenantId, sessionId };
    const record = await this.#store.readRecord(key);
    return record.ok ? record.value : null;
  }

  /** Null if no session of this log was deleted. */
  async #sawDeleted(sessionId: SessionId, epoch: string): Promise<boolean | null> {
    const key = deletionKey(sessionId, epoch);
    const known = this.#deleted.get(key);
    if (known !== undefined) return known;
    const query = { journal: "audit", key, after: 0, limit: 1 } as const;
    const page = await this.#store.readJournal(this.#viewer.tenantId, query);
    const [row] = page.ok ? page.value.rows : [];
    const saw = row === undefined ? null : isVisibleTo(audienceIn(row), this.#viewer);
    this.#deleted.set(key, saw);
    return saw;
  }
}

/** Of a deletion's entry; those of before have none, and were seen by the whole tenant. */
function audienceIn({ text }: JournalRow): Audience {
  const parsed: unknown = JSON.parse(text);
  const audience = isObject(parsed) ? objectAt(parsed, "details")?.audience : [];
  return Array.isArray(audience) ? audience : null;
}
