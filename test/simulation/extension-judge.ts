import type { TenantId } from "../../src/core/id.ts";
import { EXTENSION_SLOT_BYTES_MAX } from "../../src/core/limits.ts";
import type { ChosenExtensions } from "../../src/extension/catalog.ts";
import type { ThreadStart } from "../../src/extension/thread/messages.ts";
import { isOwnSlot } from "../../src/session/actor/open.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { Commit, SessionKey, Slot } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Judge } from "./judge.ts";

interface StoredSlot {
  readonly version: string;
  readonly text: string;
}

/** Holds what extensions get, and what is stored of them, against what was promised. */
export class ExtensionJudge {
  readonly #judge: Judge;
  /** The slots of extensions on the disk, by the names of their sessions and their owners. */
  readonly #slots = new Map<string, Map<string, StoredSlot>>();
  readonly #completed = new Set<string>();
  /** Calls that a guard has denied. */
  readonly #denied = new Set<string>();
  #chosen: ChosenExtensions = { enabled: [], refused: [] };

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  /** A server has these extensions, as its operator sees it. */
  serves(chosen: ChosenExtensions) {
    this.#chosen = chosen;
  }

  /** One comes up: it is given what the disk has for it, and nothing else. */
  begins(tenantId: TenantId, { id, slot, stateSlot, session }: Omit<ThreadStart, "port">) {
    const name = `${tenantId}/${session.sessionId}`;
    const stored = this.#slots.get(name)?.get(id);
    // Of another version it is given later, or as it is.
    const isDrifted = stored !== undefined && stored.version !== stateSlot?.slotVersion;
    const isRejected = isDrifted && this.#declared(id)?.driftPolicy === "reject";
    this.#judge.holds(
      !isRejected,
      "P6",
      () => `${id} of ${name} is up with a slot that it rejects`,
    );
    const isSame = (stored?.text ?? null) === slot;
    this.#judge.holds(isDrifted || isSame, "P6", () => `${id} of ${name} is given ${slot}`);
  }

  #declared(id: string) {
    const one = this.#chosen.enabled.find(({ manifest }) => manifest.id === id);
    return one?.manifest.stateSlot;
  }

  denied(toolCallId: string) {
    this.#denied.add(toolCallId);
  }

  /** A copy that is being made has the slots of its source, with or without their owners. */
  wrote(key: SessionKey, { events, snapshot }: Commit, isDraft: boolean) {
    for (const text of events) this.#read(text);
    const name = nameOf(key);
    const before = this.#slots.get(name) ?? new Map<string, StoredSlot>();
    const foreign = (snapshot?.slots ?? []).filter(({ owner }) => !isOwnSlot(owner));
    for (const slot of foreign) {
      if (!isDraft) this.#judgeSlot(key, slot, before.get(slot.owner));
      const text = new TextDecoder().decode(slot.payload);
      before.set(slot.owner, { version: slot.version, text });
    }
    for (const owner of snapshot?.removedSlots ?? []) {
      const sentence = () => `${name}: the slot of ${owner} is removed`;
      this.#judge.holds(isOwnSlot(owner), "P6", sentence);
    }
    this.#slots.set(name, before);
  }

  deleted(key: SessionKey) {
    this.#slots.delete(nameOf(key));
  }

  #read(text: string) {
    const { type, data } = JSON.parse(text);
    if (type === "turn_complete") this.#completed.add(data.turnId);
    const isDone = type === "permission_request" || (type === "agent_access" && data.allowed);
    const isDenied = isDone && this.#denied.has(data.requestId);
    this.#judge.holds(
      !isDenied,
      "Guard",
      () => `a guard has denied what is asked or done: ${text}`,
    );
  }

  #judgeSlot(key: SessionKey, { owner, version, payload }: Slot, before: StoredSlot | undefined) {
    const name = nameOf(key);
    const declared = this.#declared(owner);
    const isIts = declared?.slotVersion === version;
    this.#judge.holds(
      isIts,
      "P6",
      () => `${name}: ${owner}, which is not here, has its slot changed`,
    );
    const isDrift = before !== undefined && before.version !== version;
    const isTaken = isDrift && declared?.driftPolicy === "reject";
    this.#judge.holds(!isTaken, "P6", () => `${name}: ${owner} writes over a slot that it rejects`);
    const isSmall = payload.byteLength <= EXTENSION_SLOT_BYTES_MAX;
    this.#judge.holds(isSmall, "P10", () => `${name}: the slot of ${owner} is too large`);
    const { session, turns } = JSON.parse(new TextDecoder().decode(payload));
    const first = before === undefined ? key.sessionId : JSON.parse(before.text).session;
    this.#judge.holds(
      session === first,
      "P8",
      () => `${name}: ${owner} keeps what is of ${session}`,
    );
    const lost = turns.filter((turnId: string) => !this.#completed.has(turnId));
    const sentence = () => `${name}: ${owner} keeps ${lost}, which came to nothing`;
    this.#judge.holds(lost.length === 0, "P1", sentence);
  }

  /** A session that is at work says of each extension that it has, or that it does without. */
  look(
    { key, session, skipped }: LiveSession,
    open: ReadonlySet<{ readonly start: Omit<ThreadStart, "port"> }>,
  ) {
    if (session.connection.sessionState !== "ready") return;
    const name = nameOf(key);
    const at = new Set([...open].map(({ start }) => `${start.session.sessionId} ${start.id}`));
    const { enabled, refused } = this.#chosen;
    const owners = [...(this.#slots.get(name)?.keys() ?? [])];
    const ids = new Set([
      ...enabled.map(({ manifest }) => manifest.id),
      ...refused.map(({ id }) => id),
      ...owners,
    ]);
    for (const id of ids) {
      const isListed = skipped.some((one) => one.name === id);
      const isHere = at.has(`${key.sessionId} ${id}`);
      this.#judge.holds(
        isListed || isHere,
        "P6",
        () => `${name} does not say that ${id} is missing`,
      );
    }
  }
}
