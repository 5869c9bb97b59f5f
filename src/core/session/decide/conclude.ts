import { GRANTS_MAX } from "../../limits.ts";
import { allows } from "../../policy/access.ts";
import { type Ask, type AskOutcome, progressOf, selected } from "../../policy/ask.ts";
import type { Bound } from "../../policy/bound.ts";
import { isGrantable } from "../../policy/gate.ts";
import { GRANT_RULES } from "../ask-event.ts";
import { type Actor, type Command, clientOf, originatorOf, SERVER, userOf } from "../command.ts";
import type { Draft } from "../draft.ts";
import { stampOf } from "../event.ts";
import type { Session } from "../state.ts";
import { askNow, isUndecidable, withoutVoter } from "./ask.ts";
import { resumeIfAnswered } from "./open-asks.ts";

/** People have decided: what they chose is the answer, and what it grants is granted. */
export function conclude(
  draft: Draft,
  open: Ask,
  { outcome, answers, actor }: Pick<Command<"vote">, "outcome" | "answers" | "actor">,
) {
  const { requestId } = open;
  const isLasting = isAlways(open, outcome);
  const keys = isLasting ? grantableKeys(draft.session, open) : [];
  const resolved = {
    requestId,
    outcome,
    reason: "vote",
    ...votedBy(actor),
    ...(answers && { answers }),
    ...(isLasting && keys.length === 0 && NOT_GRANTED),
  } as const;
  const { childId } = open;
  const by = stampOf(draft.session.running?.promptId ?? null, originatorOf(actor));
  const stamp = { ...by, ...(childId !== undefined && { childId }) };
  draft.emit("permission_resolved", resolved, stamp);
  for (const key of keys) {
    const rules = GRANT_RULES;
    draft.emit("session_grant_added", { key, tier: open.tier, requestId, rules }, stamp);
  }
  if (open.access !== undefined) {
    const allowed = allows(open.options, outcome);
    const access = { requestId, access: open.access, tier: open.tier, allowed };
    draft.emit("agent_access", { ...access, by: "vote" }, stamp);
  }
  resumeIfAnswered(draft);
}

/** Who it was, beside the name that the vote counts under. */
export function votedBy(actor: Actor) {
  const clientId = clientOf(actor);
  const userId = userOf(actor);
  return {
    ...(clientId && { voterClientId: clientId }),
    ...(userId && { voterUserId: userId }),
  };
}

const NOT_GRANTED = { granted: false } as const;

function isAlways({ options }: Ask, outcome: AskOutcome): boolean {
  if (outcome.outcome !== "selected") return false;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  return option?.kind === "allow_always";
}

/**
 * "Always" is for this session: later asks for the same keys need no person. A call is granted as
 * a whole or not at all, since some of its keys alone would let nothing pass; and nothing is
 * granted by the answer to a question, which allows no call.
 */
function grantableKeys(session: Session, { kind, keys }: Ask): readonly string[] {
  const { sessionGrants } = session.connection;
  const fresh = keys.filter((key) => !sessionGrants.has(key));
  const fits = sessionGrants.size + fresh.length <= GRANTS_MAX;
  return kind === "permission" && fits && keys.every(isGrantable) ? keys : [];
}

/**
 * Ends an ask that no further vote would end: without the users of the turn those who are left have
 * agreed already, or there are none.
 */
export function settle(draft: Draft, requestId: Ask["requestId"], bound: Bound | undefined) {
  const asked = draft.session.connection.turn.openAsks.get(requestId);
  if (asked === undefined) return;
  const open = askNow(draft.session, asked, bound);
  const winner = open === asked ? null : progressOf(open).winner;
  if (winner !== null) conclude(draft, open, { outcome: selected(winner), actor: SERVER });
  else if (isUndecidable(open, bound)) withoutVoter(draft, requestId);
}
