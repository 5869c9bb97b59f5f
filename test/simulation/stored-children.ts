import { CHILDREN_PER_TURN_MAX } from "../../src/core/limits.ts";
import type { LogEvent } from "../../src/core/replay/compact.ts";
import { isVerdict, type SessionEvent } from "../../src/core/session/event.ts";

type Started = SessionEvent<"child_session_started">["data"];
type Ended = SessionEvent<"child_session_ended">["data"];
type Holds = (isSo: boolean, promise: string, otherwise: () => string) => void;

/** The children of a session, as its log says. */
export class StoredChildren {
  /** Those without an end. */
  readonly open = new Map<string, Started>();
  /** What each came to, with the call that it answers. */
  readonly ended: (Ended & Pick<Started, "callId">)[] = [];
  /** What all of them were begun with; a server may learn late that one has ended. */
  readonly begun = new Map<string, Started>();
  /** The calls of the turn at work that have begun one. */
  readonly #calls = new Set<string>();
  /** Asks that children have open, and whose they are. */
  readonly #asks = new Map<string, string>();
  #turnId = "none";
  readonly #openMax: number;
  readonly #holds: Holds;

  constructor(openMax: number, holds: Holds) {
    this.#openMax = openMax;
    this.#holds = holds;
  }

  hear(event: LogEvent) {
    const { childId } = event;
    if (event.type === "session_lifecycle") this.#turnId = event.data.turnId ?? this.#turnId;
    if (event.type === "child_session_started") this.#start(event.data);
    else if (event.type === "child_session_ended") this.#end(event.data);
    else if (childId !== undefined) this.#hearOf(childId, event);
    if (!isVerdict(event) || event.data.turnId === undefined) return;
    const left = [...this.open.keys()];
    this.#holds(left.length === 0, "P2", () => `there is a verdict, and ${left} have no end`);
    this.#calls.clear();
  }

  #start(child: Started) {
    const { childId, callId } = child;
    this.#holds(!this.begun.has(childId), "P2", () => `${childId} has begun twice`);
    this.#holds(!this.#calls.has(callId), "P2", () => `${callId} has begun another child`);
    const isOfTurn = callId.startsWith(`${this.#turnId}/`);
    this.#holds(isOfTurn, "P2", () => `${callId} has begun a child of ${this.#turnId}`);
    this.begun.set(childId, child);
    this.#calls.add(callId);
    this.open.set(childId, child);
    const { size } = this.open;
    this.#holds(size <= this.#openMax, "P10", () => `${size} children are at work`);
    const all = this.#calls.size;
    this.#holds(all <= CHILDREN_PER_TURN_MAX, "P10", () => `${all} children in one turn`);
  }

  #end(data: Ended) {
    const { childId } = data;
    const child = this.open.get(childId);
    this.#holds(child !== undefined, "P2", () => `${childId} has ended and is not at work`);
    const asks = [...this.#asks].filter(([, whose]) => whose === childId);
    this.#holds(asks.length === 0, "P5", () => `${childId} has ended, and ${asks} stay open`);
    this.open.delete(childId);
    if (child !== undefined) this.ended.push({ ...data, callId: child.callId });
  }

  #hearOf(childId: string, { type, data }: LogEvent) {
    if (type === "permission_request") this.#asks.set(data.requestId, childId);
    else if (type === "permission_resolved") this.#asks.delete(data.requestId);
    // What it has cost may become known when it has ended.
    const isHeard = this.open.has(childId) || type === "child_usage_reported";
    this.#holds(isHeard, "P2", () => `${type} of ${childId}, which is not at work`);
  }
}
