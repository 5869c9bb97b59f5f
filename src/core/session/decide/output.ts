import { refusal } from "../../error.ts";
import { stringAt } from "../../json.ts";
import { isCount, isPrice, isTokenUsage } from "../../price.ts";
import type { Command } from "../command.ts";
import { type Decision, Draft, refused, unchanged } from "../draft.ts";
import { stampOf } from "../event.ts";
import type { Session } from "../state.ts";
import { invalidAmount } from "./amount.ts";
import { displayNameRefusal } from "./setting.ts";

/**
 * The hot path: one event for one update. Only a turn that has grown too large
 * is not recorded further, or it would go on growing until its agent stops.
 */
export function update(session: Session, command: Command<"agent_update">): Decision {
  const { running } = session;
  if (running?.stopCause === "turn_too_large") return unchanged(session);
  const draft = new Draft(session, command);
  draft.emit("session_update", { update: command.update }, running?.stamp);
  if (command.update.sessionUpdate === "session_info_update") {
    adoptTitle(draft, stringAt(command.update, "title"));
  }
  return draft.accept();
}

/** The agent may name the session as long as no person has. */
function adoptTitle(draft: Draft, title: string | null) {
  const { displayName, titleSource } = draft.session.chosen;
  if (title === null || title === "" || title === displayName) return;
  if (titleSource === "manual" || displayNameRefusal(title) !== null) return;
  draft.emit("session_metadata_updated", { displayName: title, titleSource: "auto" });
}

export function usage(session: Session, command: Command<"usage">): Decision {
  const { turnId } = command;
  if (session.running?.turnId !== turnId) return refused(session, refusal("turn_not_open"));
  const { price } = command;
  const { tokens, used, size, costMicro } = command.usage;
  const counts = [used ?? 0, size ?? 0, costMicro ?? 0];
  const isPriced = price === undefined || isPrice(price);
  if (!isTokenUsage(tokens) || !counts.every((count) => isCount(count)) || !isPriced) {
    return refused(session, invalidAmount());
  }
  const draft = new Draft(session, command);
  const about = { turnId, usage: command.usage, ...(price && { price }) };
  draft.emit("usage_reported", about, session.running.stamp);
  return draft.accept();
}

/** More credits for the running turn. The ledger has them already; a repeat changes nothing. */
export function reserveSlice(session: Session, command: Command<"reserve_slice">): Decision {
  const { turnId, n, amountMicro } = command;
  const reservation = session.connection.turn.currentReservation;
  if (reservation?.turnId !== turnId) return refused(session, refusal("turn_not_open"));
  const { slices, price, reservedMicro } = reservation;
  if (n < slices) return unchanged(session);
  const fits = isCount(amountMicro) && isCount(reservedMicro + amountMicro);
  if (n > slices || !fits) return refused(session, invalidAmount());
  const draft = new Draft(session, command);
  draft.emit("credits_reserved", { turnId, n, amountMicro, price }, session.running?.stamp);
  return draft.accept();
}

export function announce(session: Session, command: Command<"announce">): Decision {
  const draft = new Draft(session, command);
  const { type, data } = command.announcement;
  const { originator } = command;
  draft.emit(type, data, originator && stampOf(null, originator));
  return draft.accept();
}
