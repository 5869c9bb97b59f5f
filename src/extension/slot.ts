import { type Refusal, refusal } from "../core/error.ts";
import { isObject } from "../core/json.ts";
import { EXTENSION_SLOT_BYTES_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { ExtensionManifest, SlotDeclaration } from "./manifest.ts";
import { isTooLarge, type PlainData, plainText } from "./plain-data.ts";
import { valueFault } from "./schema.ts";

type SlotClaim = Pick<ExtensionManifest, "id" | "stateSlot">;

/** A slot as it was stored, or as its owner hands it over from an older version. */
export interface StoredSlot {
  readonly version: string;
  readonly value: PlainData;
}

/** What becomes of a stored slot when its owner comes up. */
export type SlotDelivery =
  | { readonly kind: "none" }
  | { readonly kind: "as it is"; readonly value: PlainData; readonly hasDrifted: boolean }
  | { readonly kind: "to be migrated"; readonly stored: StoredSlot }
  /** It is not delivered and stays as it is; its owner does not come up, and so cannot lose it. */
  | { readonly kind: "withheld"; readonly refusal: Refusal };

/** What a slot is stored as. */
export interface SlotBytes {
  readonly version: string;
  readonly payload: Uint8Array;
}

/** What is to be stored of a slot and is not yet; null is nothing. */
export type UnstoredSlot = SlotBytes | null;

/**
 * Decides by the versions and the policy of the owner. The owner's own code is not asked here: a
 * migration comes afterwards, and is checked by `migratedSlot`.
 */
export function deliveryOf({ id, stateSlot }: SlotClaim, stored: SlotBytes | null): SlotDelivery {
  if (stored === null) return { kind: "none" };
  const { version } = stored;
  if (version === "") return withheld(refusal("slot_version_missing", { extension: id }));
  const expected = stateSlot?.slotVersion ?? "none";
  if (stateSlot === null || (version !== expected && stateSlot.driftPolicy === "reject")) {
    return withheld(refusal("slot_drift_rejected", { extension: id, stored: version, expected }));
  }
  const value = parsed(stored.payload);
  if (value === undefined) {
    const reason = "it is no JSON text";
    return withheld(refusal("slot_invalid", { extension: id, path: "its root", reason }));
  }
  const hasDrifted = version !== expected;
  if (!hasDrifted || stateSlot.driftPolicy === "warn") {
    return { kind: "as it is", value, hasDrifted };
  }
  return { kind: "to be migrated", stored: { version, value } };
}

function withheld(why: Refusal): SlotDelivery {
  return { kind: "withheld", refusal: why };
}

/** Undefined if the bytes are not the text of a value. */
function parsed(payload: Uint8Array): PlainData | undefined {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    return undefined;
  }
}

/** What a migration has answered, if that is a slot of the version that its owner declares. */
export function migratedSlot(owner: SlotClaim, stored: string, answer: unknown): Result<PlainData> {
  const failed = (reason: string) => {
    return fail("slot_migration_failed", { extension: owner.id, stored, reason });
  };
  if (!isObject(answer)) return failed("the migration did not answer {version, value}");
  const { version, value } = answer;
  const expected = owner.stateSlot?.slotVersion ?? "none";
  if (version !== expected) {
    return failed(
      `the migration answered version ${String(version).slice(0, 64)}, not ${expected}`,
    );
  }
  const text = slotText(owner, value);
  if (!text.ok) return failed(`the migrated value is not valid (${text.refusal.code})`);
  return ok(JSON.parse(text.value));
}

/** Refused for any slot but its own, which has its id for a name. */
export function checkSlotAccess(extension: string, slot: string): Result<void> {
  return slot === extension ? DONE : fail("slot_access_denied", { extension, slot });
}

/** The text that a value of a slot is stored as, if it may be: plain data, small, of its schema. */
export function slotText({ id, stateSlot }: SlotClaim, value: unknown): Result<string> {
  const invalid = (path: string, reason: string) => {
    return fail("slot_invalid", { extension: id, path: path || "its root", reason });
  };
  if (stateSlot === null) return invalid("", "its manifest declares no slot");
  const { text, fault } = plainText(value, EXTENSION_SLOT_BYTES_MAX);
  if (fault !== undefined) {
    if (!isTooLarge(fault)) return invalid(fault.path, fault.reason);
    return fail("slot_too_large", { extension: id, limit: EXTENSION_SLOT_BYTES_MAX });
  }
  const wrong = valueFault(stateSlot.schema, value);
  return wrong === null ? ok(text) : invalid(wrong.path, wrong.reason);
}

/** What the next snapshot has to say of a slot: write these bytes, or remove it. */
export type SlotChange =
  | { readonly kind: "write"; readonly slot: SlotBytes }
  | { readonly kind: "remove" };

/** What the store has of a slot: a text, none, or one that waits to be migrated. */
type StoredDraft = { readonly text: string | null } | "another version";

/**
 * The slot of one extension between two snapshots: what is stored, and what it is to become. The
 * store has what a finished turn left; what a turn has done to it so far can be taken back.
 */
export class SlotDraft {
  readonly #version: string;
  #stored: StoredDraft;
  /** What it was when the turn began. */
  #before: string | null;
  #now: string | null;

  constructor({ slotVersion }: Pick<SlotDeclaration, "slotVersion">, stored: StoredDraft) {
    this.#version = slotVersion;
    this.#stored = stored;
    this.#now = stored === "another version" ? null : stored.text;
    this.#before = this.#now;
  }

  /** What its owner keeps by now. */
  get text(): string | null {
    return this.#now;
  }

  set(text: string | null) {
    this.#now = text;
  }

  /** Null if what is stored is what it is to be. */
  get change(): SlotChange | null {
    if (this.#stored !== "another version" && this.#now === this.#stored.text) return null;
    if (this.#now === null) return { kind: "remove" };
    const payload = new TextEncoder().encode(this.#now);
    return { kind: "write", slot: { version: this.#version, payload } };
  }

  /** A snapshot that has this text is durable; what came after it is still to be stored. */
  isStored(text: string | null) {
    this.#stored = { text };
  }

  /** What is kept by now stays, also if the turn comes to nothing. */
  turnBegins() {
    this.#before = this.#now;
  }

  /** The turn came to nothing, and so did what it did here. */
  takeBack() {
    this.#now = this.#before;
  }
}
