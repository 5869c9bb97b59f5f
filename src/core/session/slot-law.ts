import { hasTurn } from "../status.ts";
import { EMPTY_TURN } from "../turn.ts";
import type { Session } from "./state.ts";

/**
 * What holds between the fields of any session, whatever happened to it. Each field may be right
 * by itself and the whole still have no way on: no verdict for its turn, or no edge out of it.
 */
export function isLawful(session: Session): boolean {
  return LAWS.every((holds) => holds(session));
}

const LAWS: readonly ((session: Session) => boolean)[] = [
  ({ phase }) => phase !== "none",
  ({ phase, connection }) => phase !== "Closed" || connection.sessionState === "inactive",
  ({ phase, closed }) => !closed || phase === "Closed",
  ({ ending, connection }) => ending === null || connection.sessionState === "deactivating",
  hasItsTurn,
  waitsForPeople,
  tellsPromptsApart,
];

/** A turn is all there or not at all, and every part of it is of the same turn (P9). */
function hasItsTurn({ running, phase, connection }: Session): boolean {
  const { turn, sessionState } = connection;
  if (running === null) return !hasTurn(sessionState) && turn === EMPTY_TURN;
  const { promptId, clientId, userId, turnId, stamp } = running;
  // Prompts that began before stamps had users have one without.
  const isTheirs = (stamp.originatorUserId ?? userId) === userId;
  const isOfClient = (stamp.originatorClientId ?? null) === clientId;
  const stamped = stamp.promptId === promptId && isOfClient && isTheirs;
  const same = turn.turnId === turnId && turn.currentReservation?.turnId === turnId;
  return hasTurn(sessionState) && phase === "Active" && stamped && same;
}

function waitsForPeople({ connection: { turn, sessionState } }: Session): boolean {
  return (sessionState === "waiting") === turn.openAsks.size > 0;
}

/** Or one of them would have two verdicts, and another none (P2). */
function tellsPromptsApart({ running, queue }: Session): boolean {
  const pending = running === null ? queue : [running, ...queue];
  return new Set(pending.map(({ promptId }) => promptId)).size === pending.length;
}
