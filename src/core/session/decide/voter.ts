import type { Ask } from "../../policy/ask.ts";
import { selected } from "../../policy/ask.ts";
import { standingOf, withoutVoters } from "../../policy/mediation.ts";
import type { Command } from "../command.ts";
import { type Decision, Draft } from "../draft.ts";
import type { Session } from "../state.ts";
import { conclude, namesOf } from "./ask.ts";

/**
 * Somebody who was counted on has no vote any more. Each open ask that was put to them goes on
 * without them, and is decided by this if those who stay have already agreed: else it would wait
 * for a vote that nobody can give.
 */
export function gone(session: Session, command: Command<"voter_gone">): Decision {
  const { userId, quorum } = command;
  const names = namesOf(session, { clientId: null, userId });
  const asks = session.connection.turn.openAsks.values();
  const draft = new Draft(session, command);
  for (const ask of asks) {
    const left = ask.mediation.voters.filter((voter) => names.includes(voter));
    const isMissed = ask.mediation.policy === "consensus" && left.length > 0;
    if (isMissed) goOn(draft, command, ask, left, quorum);
  }
  return draft.accept();
}

function goOn(
  draft: Draft,
  { actor }: Command<"voter_gone">,
  ask: Ask,
  left: readonly string[],
  configured: number | null,
) {
  const less = withoutVoters(ask, left, configured);
  const { winner, tallies, ...progress } = standingOf(less);
  const { requestId, mediation } = less;
  const told = { requestId, left, ...progress, quorum: mediation.quorum, optionTallies: tallies };
  draft.emit("permission_voter_left", told, draft.session.running?.stamp);
  if (winner !== null) conclude(draft, less, { outcome: selected(winner), actor });
}
