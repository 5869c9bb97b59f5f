import type { ChildId } from "../../id.ts";
import type { Draft } from "../draft.ts";
import type { Stamp } from "../event.ts";
import type { Session } from "../state.ts";

/** The stamp of what comes of an ask: of the turn, and of the child that asked. */
export function askStamp({ running }: Session, ask: { readonly childId?: ChildId }): Stamp {
  const { childId } = ask;
  return { ...running?.stamp, ...(childId !== undefined && { childId }) };
}

/** The last answer sets the turn going again. */
export function resumeIfAnswered(draft: Draft) {
  const { openAsks } = draft.session.connection.turn;
  if (openAsks.size === 0 && draft.state === "waiting") {
    draft.moveTo("running", "approval_resolved");
  }
}
