import { z } from "zod";
import { errorBody, refusal } from "../../core/error.ts";
import type { ClientId } from "../../core/id.ts";
import {
  HISTORY_TURNS_MAX,
  HISTORY_TURNS_MIN,
  RESTORE_RETRY_MS_MAX,
  RESTORE_RETRY_MS_MIN,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import { pendingCount } from "../../core/session/state.ts";
import { givenBy } from "../../session/given-by.ts";
import type { Resumed } from "../../session/life/arrival.ts";
import { agentState } from "../../session/view/agent-state.ts";
import { promptTerminals } from "../../session/view/turn-status.ts";
import type { SessionKey } from "../../store/store.ts";
import { type Answer, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { approvalMode, cwd } from "../new-session.ts";
import { reapIfLost } from "../reaper.ts";
import { refusedMode } from "../refused-mode.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { sessionBody } from "../session-body.ts";
import { actorOf, freshClientId, withSession } from "../session-request.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";
import { LoadGate } from "./load-gate.ts";

const restoreBody = z.object({
  cwd: cwd.optional(),
  approvalMode: approvalMode.optional(),
});

const loadBody = restoreBody.extend({
  historyPageSize: z.int().min(HISTORY_TURNS_MIN).max(HISTORY_TURNS_MAX).optional(),
  liveReplayMode: z.enum(["full", "summary"]).default("full"),
});

const CODES = {
  approvalMode: "invalid_approval_mode",
  historyPageSize: "invalid_transcript_limit",
  liveReplayMode: "invalid_live_replay_mode",
} as const;

type RestoreWish = z.output<typeof restoreBody>;
type LoadWish = z.output<typeof loadBody>;
type RestoreRequest = ServerRequest<{ readonly id: string }>;

/** Brings a session back and shows what happened in it (wire, 4.3). */
export function loadRoute(daemon: Daemon): Route {
  const gate = new LoadGate();
  return route({
    method: "POST",
    path: "/session/:id/load",
    gate: "caller",
    needs: "session:write",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const wish = readBody(loadBody, request.body, CODES);
        if (!wish.ok) return refusedMode(wish.refusal);
        const visit = { key, request, action: "load", wish: wish.value } as const;
        const shown = () => historyOf(daemon, key, wish.value);
        return restore(daemon, visit, shown, (make) => gate.pass(make));
      }),
  });
}

/** Brings a session back for somebody who knows what happened in it. */
export function resumeRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/resume",
    gate: "caller",
    needs: "session:write",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const wish = readBody(restoreBody, request.body, CODES);
        if (!wish.ok) return refusedMode(wish.refusal);
        const visit = { key, request, action: "resume", wish: wish.value } as const;
        const shown = async ({ live }: Resumed) => ok(daemon.runtime.cursorOf(live));
        return restore(daemon, visit, shown, (make) => make());
      }),
  });
}

interface Visit {
  readonly key: SessionKey;
  readonly request: RestoreRequest;
  readonly action: "load" | "resume";
  readonly wish: RestoreWish;
}

interface Visitor {
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/** Without an agent the session is back all the same, and says why it has none (P6). */
async function restore(
  daemon: Daemon,
  visit: Visit,
  shown: (resumed: Resumed) => Promise<Result<object>>,
  inTurn: (make: () => Promise<Answer>) => Promise<Answer>,
): Promise<Answer> {
  const { key, request } = visit;
  const isThere = await hasWorkspace(daemon, visit);
  if (!isThere.ok) return refused(isThere.refusal);
  const clientId = request.clientId ?? freshClientId(daemon.world.ids.session());
  if (clientId === null) return refused(refusal("internal_error"));
  const visitor = { clientId, actor: actorOf(request, clientId) };
  const resumed = await resumedInTime(daemon, key, visitor);
  if (resumed === "late") return tooLate(daemon, visit);
  if (!resumed.ok) return refused(resumed.refusal);
  return inTurn(async () => {
    const body = await restoredBody(daemon, visit, visitor, resumed.value, shown);
    if (body.ok) {
      const answer = json(200, body.value);
      return reapIfLost(daemon, answer, { ...visitor, live: resumed.value.live, isMade: false });
    }
    await daemon.runtime.detach(key, clientId, visitor.actor);
    return refused(body.refusal);
  });
}

async function restoredBody(
  daemon: Daemon,
  { wish }: Visit,
  { clientId, actor }: Visitor,
  resumed: Resumed,
  shown: (resumed: Resumed) => Promise<Result<object>>,
): Promise<Result<object>> {
  const { live, attached, agentFailure } = resumed;
  const set = await setMode(daemon, live.key, actor, wish.approvalMode);
  if (!set.ok) return set;
  const state = await agentState(daemon.world.store, live);
  if (!state.ok) return state;
  const more = await shown(resumed);
  if (!more.ok) return more;
  const { skipped } = live;
  return ok({
    ...sessionBody(daemon.world, live, { attached, clientId }),
    hasActivePrompt: pendingCount(live.session) > 0,
    state: state.value,
    ...more.value,
    ...(agentFailure !== null && { agentFailure: errorBody(agentFailure) }),
    ...(skipped.length > 0 && { skipped }),
  });
}

async function historyOf(
  { runtime }: Daemon,
  key: SessionKey,
  { historyPageSize, liveReplayMode }: LoadWish,
): Promise<Result<object>> {
  const replay = await runtime.replay(key, liveReplayMode, historyPageSize ?? null);
  if (!replay.ok) return replay;
  const { hasOlder, ...shown } = replay.value;
  const events = [...shown.compactedReplay, ...shown.liveJournal];
  const [anchor] = events.flatMap((event) => ("promptId" in event ? (event.promptId ?? []) : []));
  const terminals = promptTerminals(events);
  return ok({
    ...shown,
    ...(hasOlder && { historyHasMore: true }),
    ...(hasOlder && anchor !== undefined && { historyAnchorRecordId: anchor }),
    ...(terminals.length > 0 && { promptTerminals: terminals }),
  });
}

/** Whoever names a workspace means a session of it, and is not given that of another one. */
async function hasWorkspace(daemon: Daemon, { key, wish }: Visit): Promise<Result<void>> {
  const record = await daemon.world.store.readRecord(key);
  if (!record.ok) return record;
  if (wish.cwd === undefined) return DONE;
  const wanted = await trustedWorkspaceOf(daemon.workspaces, key.tenantId, wish.cwd);
  if (!wanted.ok) return wanted;
  const boundWorkspace = record.value.workspaceCwd;
  const requestedWorkspace = wanted.value.cwd;
  if (requestedWorkspace === boundWorkspace) return DONE;
  return fail("workspace_mismatch", { boundWorkspace, requestedWorkspace });
}

async function setMode(
  { runtime, world }: Daemon,
  key: SessionKey,
  actor: Actor,
  mode: RestoreWish["approvalMode"],
): Promise<Result<unknown>> {
  if (mode === undefined) return DONE;
  const by = givenBy(world.clock, actor);
  return runtime.submit(key, { type: "approval_mode", ...by, mode, persisted: false });
}

/** What comes too late is not called off: the next request finds the session, or joins in. */
async function resumedInTime(
  { runtime, world, settings }: Daemon,
  key: SessionKey,
  { clientId, actor }: Visitor,
): Promise<Result<Resumed> | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const callOff = world.clock.after(settings.sessionRestoreTimeoutMs, () => resolve("late"));
  const resuming = runtime.resume(key, actor);
  const first = await Promise.race([resuming, late]);
  callOff();
  if (first === "late") {
    void resuming.then((resumed) => (resumed.ok ? runtime.detach(key, clientId, actor) : null));
  }
  return first;
}

function tooLate({ settings }: Daemon, { key, action }: Visit): Answer {
  const { sessionRestoreTimeoutMs: timeoutMs } = settings;
  const { sessionId } = key;
  const about = { errorKind: "restore_timeout", sessionId, action, timeoutMs };
  const retryMs = Math.min(Math.max(timeoutMs, RESTORE_RETRY_MS_MIN), RESTORE_RETRY_MS_MAX);
  const body = { ...errorBody(refusal("session_restore_timeout", about)), retryable: true };
  return json(504, body, { "Retry-After": `${Math.ceil(retryMs / 1_000)}` });
}
