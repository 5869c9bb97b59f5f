import type { Refusal } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import type { Command } from "../core/session/command.ts";
import type { Decision } from "../core/session/draft.ts";
import type { Session } from "../core/session/state.ts";
import type { JournalEntry, SessionKey, Snapshot } from "../store/store.ts";
import type { Written } from "./actor/written.ts";

/**
 * One part of what follows a live session: the agent's side, credits, audit, timers, the queue,
 * slash commands, streams. Participants are registered when a session is opened, and the actor
 * calls them in that order. None of them decides: they act on what is durable, and what comes of
 * that returns as a command.
 */
export interface Participant {
  /** Adds to the commit, which stands or falls as a whole. */
  journal?(step: CommitStep): readonly JournalEntry[];
  /** Adds slots to the snapshot at the end of a turn, of which these are the last events. */
  slots?(last: readonly Written[]): SlotChanges | null;
  /** Receives what became durable: in order, each event once. */
  durable?(written: readonly Written[], session: Session): void;
  /** Does what the durable state asks for and has not been done yet. */
  follow?(session: Session): void;
  /** Starts nothing new any more: what waits is left to another server. */
  rest?(): void;
  /** Ends with the live instance; with a refusal, because its store failed. */
  end?(why: Refusal | null): void | Promise<void>;
}

/** Slots that are written and removed with a snapshot; all others stay as they are. */
export type SlotChanges = Pick<Snapshot, "slots"> & { readonly removed: readonly string[] };

/** Most snapshots have nothing but the server's own slots. */
export const NO_CHANGES: SlotChanges = { slots: [], removed: [] };

/** What all of them add to the snapshot at the end of a turn. */
export function slotChanges(
  participants: readonly Participant[],
  last: readonly Written[],
): SlotChanges {
  const changes = participants.flatMap((participant) => participant.slots?.(last) ?? []);
  if (changes.length === 0) return NO_CHANGES;
  return {
    slots: changes.flatMap(({ slots }) => slots),
    removed: changes.flatMap(({ removed }) => removed),
  };
}

/** What a commit is about. */
export type CommitStep =
  | {
      readonly kind: "decision";
      readonly command: Command;
      readonly decision: Decision;
      readonly before: Session;
      readonly written: readonly Written[];
      readonly firstEventId: number;
      /** The revision that the commit's snapshot makes, if it has one. */
      readonly revision: number | null;
    }
  | { readonly kind: "checkpoint"; readonly revision: number; readonly atMs: number }
  | {
      readonly kind: "act";
      readonly act: string;
      readonly details: JsonObject;
      readonly atMs: number;
    };

/** What a participant may know of its session, and do with it. */
export interface SessionSeat {
  readonly key: SessionKey;
  /** The identity of the session's log. */
  readonly epoch: string;
  readonly term: number;
  /** The state as decided so far, which may be ahead of what is durable. */
  readonly decided: Session;
  /** The last durable event. */
  readonly lastEventId: number;
  /** Answers with the refusal, once it is durable that there is one. */
  submit(command: Command): Promise<Refusal | null>;
  /** The same for a caller that does not wait: the way of an agent's text. */
  tell(command: Command): void;
  /** Records an act in the audit before it happens; rejects if that fails. */
  recordAct(act: string, details: JsonObject): Promise<void>;
  /** Resolves when all that is decided by now is durable and told, or never will be. */
  settled(): Promise<void>;
  /** Pending while too much waits for the store; undefined otherwise. */
  backpressure(): Promise<void> | undefined;
}
