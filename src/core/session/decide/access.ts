import {
  ACCESS_OPTIONS,
  type Access,
  accessCall,
  accessKey,
  accessTier,
  judgeAccess,
} from "../../policy/access.ts";
import type { Command } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import type { Session } from "../state.ts";
import { askPeople, askRefusal, type PeopleAsk } from "./ask.ts";

/**
 * The agent has the server run a command, write a file or read one. What a granted ask covers is
 * done; the rest passes the gates of an ask, and people are asked where no gate decides.
 */
export function access(session: Session, command: Command<"access">): Decision {
  const { requestId, access: wanted, atMs } = command;
  const draft = new Draft(session, command);
  const tier = accessTier(wanted);
  const ruling = judge(session, wanted);
  if (ruling.kind === "decided") {
    const { by, allowed, permit } = ruling;
    const decided = { requestId, access: wanted, tier, allowed, by };
    const told = permit === undefined ? decided : { ...decided, answeredBy: permit.requestId };
    draft.emit("agent_access", told, session.running?.stamp);
    return draft.accept();
  }
  const { policy, quorum, present, deadlineAtMs } = command;
  const ask: PeopleAsk = {
    ...{ requestId, policy, quorum, present, deadlineAtMs },
    kind: "permission",
    toolCall: accessCall(wanted, requestId),
    options: ACCESS_OPTIONS,
  };
  const why = askRefusal(session, ask);
  if (why !== null) return refused(session, why);
  askPeople(draft, ask, atMs, { keys: [accessKey(wanted)], tier, access: wanted });
  return draft.accept();
}

function judge(session: Session, wanted: Access) {
  const { fixed, chosen, connection, running } = session;
  const { securityMode, allowlist, workspaceCwd } = fixed;
  const { approvalMode, currentCwd } = chosen;
  const { sessionGrants: grants, autonomyProfile } = connection;
  const permits = running?.stopCause === null ? running.permits : null;
  const rules = { securityMode, allowlist, grants, autonomyProfile, approvalMode };
  return judgeAccess({ access: wanted, permits, workspaceCwd, currentCwd, ...rules });
}
