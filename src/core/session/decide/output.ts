import { refusal } from "../../error.ts";
import { stringAt } from "../../json.ts";
import { MICRO_CREDITS_MAX } from "../../limits.ts";
import { isTokenUsage } from "../../price.ts";
import type { Command } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import type { Session } from "../state.ts";
import { displayNameRefusal } from "./setting.ts";

/** The hot path: one event for one update, whatever it says. */
export function update(session: Session, command: Command<"agent_update">): Decision {
  const draft = new Draft(session, command);
  draft.emit("session_update", { update: command.update }, session.running?.stamp);
  if (command.update.sessionUpdate === "session_info_update") {
    adoptTitle(draft, stringAt(command.update, "title"));
  }
  return draft.accept();
}

/** The agent may name the session as long as no person has. */
function adoptTitle(draft: Draft, title: string | null) {
  const { displayName, displayNameSource } = draft.session.chosen;
  if (title === null || title === "" || title === displayName) return;
  if (displayNameSource === "client" || displayNameRefusal(title) !== null) return;
  draft.emit("session_metadata_updated", { displayName: title, titleSource: "agent" });
}

export function usage(session: Session, command: Command<"usage">): Decision {
  const { turnId } = command;
  if (session.running?.turnId !== turnId) return refused(session, refusal("turn_not_open"));
  if (!isTokenUsage(command.usage.tokens)) return invalidAmount(session);
  const draft = new Draft(session, command);
  draft.emit("usage_reported", { turnId, usage: command.usage }, session.running.stamp);
  return draft.accept();
}

/** More credits for the running turn. The ledger has them already; a repeat changes nothing. */
export function reserveSlice(session: Session, command: Command<"reserve_slice">): Decision {
  const { turnId, n, amountMicro } = command;
  const reservation = session.connection.turn.currentReservation;
  if (reservation?.turnId !== turnId) return refused(session, refusal("turn_not_open"));
  if (!isAmount(amountMicro + reservation.reservedMicro)) return invalidAmount(session);
  const draft = new Draft(session, command);
  if (n < reservation.slices) return draft.accept();
  if (n > reservation.slices || !isAmount(amountMicro)) return invalidAmount(session);
  draft.emit("credits_reserved", { turnId, n, amountMicro, price: reservation.price });
  return draft.accept();
}

export function isAmount(micro: number): boolean {
  return Number.isSafeInteger(micro) && micro >= 0;
}

function invalidAmount(session: Session): Decision {
  return refused(session, refusal("invalid_amount", { limit: MICRO_CREDITS_MAX }));
}

export function announce(session: Session, command: Command<"announce">): Decision {
  const draft = new Draft(session, command);
  const { type, data } = command.announcement;
  draft.emit(type, data);
  return draft.accept();
}
