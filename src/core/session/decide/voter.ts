import type { ClientId, UserId } from "../../id.ts";
import { type Ask, progressOf, selected, voterOf, withoutVoters } from "../../policy/ask.ts";
import type { Bound } from "../../policy/bound.ts";
import { type Actor, type Command, SERVER } from "../command.ts";
import { type Decision, Draft } from "../draft.ts";
import type { Originator } from "../event.ts";
import type { Session } from "../state.ts";
import { askNow } from "./ask.ts";
import { conclude, settle } from "./conclude.ts";
import { askStamp } from "./open-asks.ts";

/**
 * A user votes as that user. An ask may still know them by a client that came before there were
 * users: that one is theirs as well, and so is every client that is theirs by now.
 */
export function namesOf(
  session: Session,
  { clientId, userId = null }: Originator,
): readonly string[] {
  const isTheirs = (id: ClientId, owner: UserId | null) => {
    return id === clientId || (userId !== null && owner === userId);
  };
  const clients = [...session.clients].filter(([id, client]) => isTheirs(id, client.userId));
  const names = [voterOf(clientId, userId), ...clients.map(([id]) => voterOf(id, null))];
  return names.filter((name) => name !== null);
}

/**
 * A counted voter has no vote any more. Each open ask that was put to that voter goes on
 * without them, and is decided by this if those who stay have already agreed: else it would wait
 * for a vote that cannot come.
 */
export function voterGone(session: Session, command: Command<"voter_gone">): Decision {
  const { userId, quorum, bound } = command;
  const names = userId === null ? [] : namesOf(session, { clientId: null, userId });
  const asks = session.connection.turn.openAsks.values();
  const draft = new Draft(session, command);
  for (const ask of asks) {
    const left = awaitedIn(ask).filter((voter) => names.includes(voter));
    if (left.length > 0) goOnWithout(draft, ask, { ...command, left, quorum });
    settle(draft, ask.requestId, bound);
  }
  return draft.accept();
}

/**
 * The same for a client that is not registered any more. Clients of a user are no voters: the user
 * may come back at another one. As many have to agree as before, or all who are left.
 */
export function clientGone(draft: Draft, clientId: ClientId) {
  if (draft.session.clients.has(clientId)) return;
  const name = voterOf(clientId, null);
  for (const ask of draft.session.connection.turn.openAsks.values()) {
    const left = awaitedIn(ask).filter((voter) => voter === name);
    const { quorum } = ask.mediation;
    if (left.length > 0) goOnWithout(draft, ask, { actor: SERVER, left, quorum });
  }
}

/** Those without whom the ask may not be decided; any voter can decide the others. */
function awaitedIn({ mediation }: Ask): readonly string[] {
  const { policy, voters, designated, owners } = mediation;
  if (policy === "consensus") return voters;
  return policy === "designated" && designated !== null && !owners ? [designated] : [];
}

interface LeftVoters {
  readonly actor: Actor;
  readonly bound?: Bound;
  readonly left: readonly string[];
  readonly quorum: number | null;
}

function goOnWithout(draft: Draft, ask: Ask, { actor, bound, left, quorum }: LeftVoters) {
  const less = withoutVoters(ask, left, quorum);
  const { winner: _, tallies, ...progress } = progressOf(less);
  const { requestId, mediation } = less;
  const { owners } = mediation;
  const rules = { quorum: mediation.quorum, optionTallies: tallies, ...(owners && { owners }) };
  const data = { requestId, left, ...progress, ...rules };
  draft.emit("permission_voter_left", data, askStamp(draft.session, ask));
  // Votes that the policy does not count by now decide nothing.
  const open = askNow(draft.session, less, bound);
  const { winner } = progressOf(open);
  if (winner !== null) conclude(draft, open, { outcome: selected(winner), actor });
}
