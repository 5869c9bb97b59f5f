import { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { type ClientId, parsePromptId, type TurnId } from "../../core/id.ts";
import {
  HISTORY_TURNS_MAX,
  HISTORY_TURNS_MIN,
  LOADS_HELD_CHARS_MAX,
  LOADS_MADE_MAX,
  RESTORE_RETRY_MS_MAX,
  RESTORE_RETRY_MS_MIN,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import { displayNameRefusal } from "../../core/session/decide/setting.ts";
import { pendingCount } from "../../core/session/state.ts";
import { givenBy } from "../../session/given-by.ts";
import type { Resumed } from "../../session/life/arrival.ts";
import type { LiveSession } from "../../session/live.ts";
import type { Forked } from "../../session/side/fork.ts";
import { turnOfRecord } from "../../session/view/branch-point.ts";
import { agentState } from "../../session/view/context.ts";
import { promptTerminals } from "../../session/view/prompt-terminal.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";
import { approvalMode, cwd } from "./new-session.ts";
import {
  actorOf,
  freshClientId,
  reapIfLost,
  refusedMode,
  sessionBody,
  withLive,
  withSession,
} from "./session-request.ts";

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

interface RestoreVisit {
  readonly key: SessionKey;
  readonly request: RestoreRequest;
  readonly action: "load" | "resume";
  readonly wish: RestoreWish;
}

interface RestoringClient {
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/** Without an agent the session is back all the same, and says why it has none (P6). */
async function restore(
  daemon: Daemon,
  visit: RestoreVisit,
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
  { wish }: RestoreVisit,
  { clientId, actor }: RestoringClient,
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
async function hasWorkspace(daemon: Daemon, { key, wish }: RestoreVisit): Promise<Result<void>> {
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
  { clientId, actor }: RestoringClient,
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

function tooLate({ settings }: Daemon, { key, action }: RestoreVisit): Answer {
  const { sessionRestoreTimeoutMs: timeoutMs } = settings;
  const { sessionId } = key;
  const about = { errorKind: "restore_timeout", sessionId, action, timeoutMs };
  const retryMs = Math.min(Math.max(timeoutMs, RESTORE_RETRY_MS_MIN), RESTORE_RETRY_MS_MAX);
  const body = { ...errorBody(refusal("session_restore_timeout", about)), retryable: true };
  return json(504, body, { "Retry-After": `${Math.ceil(retryMs / 1_000)}` });
}

/**
 * A loaded history weighs many megabytes, several times that while it is made, and stays until its
 * client has taken it. So only a few are made at a time, and none while too much of what was made
 * waits for slow clients (P10). Whoever comes then waits in the order of arrival: an answer that
 * nobody takes is given up by its delivery, so nobody waits for ever.
 */
export class LoadGate {
  readonly #waiting: (() => void)[] = [];
  #made = 0;
  #heldChars = 0;

  async pass(make: () => Promise<Answer>): Promise<Answer> {
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#letIn();
    await turn;
    try {
      return this.#hold(await make());
    } finally {
      this.#made -= 1;
      this.#letIn();
    }
  }

  #hold(answer: Answer): Answer {
    const chars = answer.kind === "json" ? answer.text.length : 0;
    this.#heldChars += chars;
    const afterwards: Answer["afterwards"] = (fate) => {
      this.#heldChars -= chars;
      this.#letIn();
      answer.afterwards?.(fate);
    };
    return { ...answer, afterwards };
  }

  #letIn() {
    while (this.#made < LOADS_MADE_MAX && this.#heldChars < LOADS_HELD_CHARS_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#made += 1;
      next();
    }
  }
}

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
