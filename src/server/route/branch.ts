import { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { parsePromptId, type TurnId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { displayNameRefusal } from "../../core/session/decide/setting.ts";
import { pendingCount } from "../../core/session/state.ts";
import type { LiveSession } from "../../session/live.ts";
import { type Forked, turnOfRecord } from "../../session/side/fork.ts";
import { agentState } from "../../session/view/agent-state.ts";
import { type Answer, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { reapIfLost } from "../reaper.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { sessionBody } from "../session-body.ts";
import { actorOf, freshClientId } from "../session-request.ts";

const branchBody = z.object({
  name: z.string().nullish(),
  /** The last turn that the branch has: its own id, or that of its prompt. */
  atRecordId: z.string().nullish(),
});

/** Makes a session that goes on from a completed turn of another one, and joins it (wire, 5). */
export function branchRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/branch",
    gate: "caller",
    needs: "session:create",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const read = readBody(branchBody, request.body);
        if (!read.ok) return refused(read.refusal);
        const { name = null, atRecordId = null } = read.value;
        const badName = displayNameRefusal(name?.trim() ?? "");
        if (badName !== null) return refused(badName);
        const turnId = await turnAt(daemon, live, atRecordId);
        if (!turnId.ok) return refused(turnId.refusal);
        const order = { actor, turnId: turnId.value, name };
        const forked = await daemon.runtime.side.fork(live.key, order);
        if (!forked.ok) return refused(forked.refusal);
        if (forked.value === null) return refused(noSuchTurn(live, atRecordId));
        return joined(daemon, request, forked.value);
      }),
  });
}

/** The turn that was named, or null for the last one; refused while a prompt has no verdict. */
async function turnAt(
  { world }: Daemon,
  live: LiveSession,
  recordId: string | null,
): Promise<Result<TurnId | null>> {
  const { sessionId } = live.key;
  if (pendingCount(live.session) > 0) return fail("branch_while_prompt_active", { sessionId });
  if (recordId === null) return ok(null);
  const named = parsePromptId(recordId);
  const turn = named === null ? ok(null) : await turnOfRecord(world.store, live.key, named);
  if (turn.ok && turn.value === null) return { ok: false, refusal: noSuchTurn(live, recordId) };
  return turn;
}

function noSuchTurn({ key: { sessionId } }: LiveSession, atRecordId: string | null): Refusal {
  const at = atRecordId === null ? {} : { atRecordId };
  return refusal("branch_point_invalid", { sessionId, ...at });
}

/**
 * Brings the new session to life for whoever wanted it. It has been made by then: if there is no
 * room for it now, it is answered as one that rests, and can be loaded later.
 */
async function joined(daemon: Daemon, request: ServerRequest, forked: Forked): Promise<Answer> {
  const { runtime, world } = daemon;
  const { key, displayName, forkedFrom } = forked;
  const made = { sessionId: key.sessionId, displayName, forkedFrom };
  const clientId = request.clientId ?? freshClientId(world.ids.session());
  const actor = actorOf(request, clientId);
  const resumed = await runtime.resume(key, actor);
  if (!resumed.ok || clientId === null) return json(201, made);
  const { live, attached, agentFailure } = resumed.value;
  const state = await agentState(world.store, live);
  const replay = await runtime.replay(key, "full");
  if (!state.ok || !replay.ok) {
    // Whoever is not told the name they were given cannot leave under it either.
    await runtime.detach(key, clientId, actor);
    return json(201, made);
  }
  const { compactedReplay, liveJournal, lastEventId, eventEpoch } = replay.value;
  const body = {
    ...sessionBody(world, live, { attached, clientId }),
    hasActivePrompt: pendingCount(live.session) > 0,
    state: state.value,
    compactedReplay,
    liveJournal,
    lastEventId,
    eventEpoch,
    ...(agentFailure !== null && { agentFailure: errorBody(agentFailure) }),
    ...made,
  };
  return reapIfLost(daemon, json(201, body), { live, clientId, actor, isMade: false });
}
