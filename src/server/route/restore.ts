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
import {
  type ForkedSession,
  firstPromptShown,
  type JoinedSession,
  type KnownSession,
  promptTerminals,
  type SessionAccess,
  verdictsShown,
} from "../../session/index.ts";
import { approvalMode, cwd } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, jsonWith, refused, type WrittenFields } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";
import { ABOUT_BEGIN } from "./about/begin.ts";
import {
  actorOf,
  freshClientId,
  reapIfLost,
  refusedMode,
  type SessionRequest,
  sessionBody,
  withKnown,
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

type RestoreBody = z.output<typeof restoreBody>;
type LoadBody = z.output<typeof loadBody>;

/** Loads a session and answers with its history. */
export function loadRoute(daemon: Daemon): Route {
  const gate = new LoadGate();
  return route({
    method: "POST",
    path: "/session/:id/load",
    about: ABOUT_BEGIN.load,
    needs: "session:write",
    clientId: "shape",
    fields: loadBody,
    async handle(request) {
      const read = readBody(loadBody, request.body, CODES);
      if (!read.ok) return refusedMode(read.refusal);
      const { value: options } = read;
      const shown = ({ session }: JoinedSession) => historyOf(session, options);
      return withKnown(daemon, request, (known) => {
        const call = { known, request, action: "load", options } as const;
        return restore(daemon, call, shown, (make) => gate.pass(make));
      });
    },
  });
}

/** Resumes a session for a client that knows its history. */
export function resumeRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/resume",
    about: ABOUT_BEGIN.resume,
    needs: "session:write",
    clientId: "shape",
    fields: restoreBody,
    async handle(request) {
      const read = readBody(restoreBody, request.body, CODES);
      if (!read.ok) return refusedMode(read.refusal);
      const { value: options } = read;
      const shown = async ({ session }: JoinedSession) => {
        return ok({ fields: session.cursor, texts: {} });
      };
      return withKnown(daemon, request, (known) => {
        const call = { known, request, action: "resume", options } as const;
        return restore(daemon, call, shown, (make) => make());
      });
    },
  });
}

interface RestoreCall {
  readonly known: KnownSession;
  readonly request: SessionRequest;
  readonly action: "load" | "resume";
  readonly options: RestoreBody;
}

interface RestoringClient {
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/**
 * Answers from the log while the agent comes up: nothing that a client is shown waits for it, and
 * the session is there even if it fails to start (P6).
 */
async function restore(
  daemon: Daemon,
  call: RestoreCall,
  shown: (joined: JoinedSession) => Promise<Result<Shown>>,
  limited: (make: () => Promise<Answer>) => Promise<Answer>,
): Promise<Answer> {
  const { known, request } = call;
  const isThere = await hasWorkspace(daemon, call);
  if (!isThere.ok) return refused(isThere.refusal);
  const clientId = request.clientId ?? freshClientId(daemon.ids.session());
  if (clientId === null) return refused(refusal("internal_error"));
  const client = { clientId, actor: actorOf(request, clientId) };
  const resumed = await resumedInTime(daemon, known, client);
  if (resumed === "late") return tooLate(daemon, call);
  if (!resumed.ok) return refused(resumed.refusal);
  return limited(async () => {
    const { session, answered } = resumed.value;
    const body = await restoredBody(call, client, resumed.value, shown);
    answered?.();
    if (body.ok) {
      const { fields, texts } = body.value;
      return reapIfLost(jsonWith(200, fields, texts), { ...client, session, isMade: false });
    }
    await session.detach(clientId, client.actor);
    return refused(body.refusal);
  });
}

async function restoredBody(
  { options }: RestoreCall,
  { clientId, actor }: RestoringClient,
  joined: JoinedSession,
  shown: (joined: JoinedSession) => Promise<Result<Shown>>,
): Promise<Result<Shown>> {
  const { session, attached } = joined;
  const set = await setMode(session, actor, options.approvalMode);
  if (!set.ok) return set;
  const [state, more] = await Promise.all([session.agentState(), shown(joined)]);
  if (!more.ok) return more;
  const { skipped } = session;
  const agentFailure = joined.agentFailure ?? session.agentFailure;
  const fields = {
    ...sessionBody(session, { attached, clientId }),
    hasActivePrompt: pendingCount(session.session) > 0,
    state,
    ...more.value.fields,
    ...(agentFailure !== null && { agentFailure: errorBody(agentFailure) }),
    ...(skipped.length > 0 && { skipped }),
  };
  return ok({ fields, texts: more.value.texts });
}

/** What an answer has beside the session. */
interface Shown {
  readonly fields: object;
  readonly texts: WrittenFields;
}

async function historyOf(
  session: SessionAccess,
  { historyPageSize, liveReplayMode }: LoadBody,
): Promise<Result<Shown>> {
  const replay = await session.replay(liveReplayMode, historyPageSize ?? null);
  if (!replay.ok) return replay;
  const { hasOlder, turns: _, compactedTexts: compactedReplay, ...shown } = replay.value;
  const anchor = hasOlder ? firstPromptShown(replay.value) : null;
  const terminals = promptTerminals(verdictsShown(replay.value));
  const fields = {
    ...shown,
    ...(hasOlder && { historyHasMore: true }),
    ...(anchor !== null && { historyAnchorRecordId: anchor }),
    ...(terminals.length > 0 && { promptTerminals: terminals }),
  };
  return ok({ fields, texts: { compactedReplay } });
}

/** A client that names a workspace gets only sessions of it. */
async function hasWorkspace(
  { workspaces }: Daemon,
  { known, options }: RestoreCall,
): Promise<Result<void>> {
  if (options.cwd === undefined) return DONE;
  const record = await known.record();
  if (!record.ok) return record;
  const wanted = await trustedWorkspaceOf(workspaces, known.key.tenantId, options.cwd);
  if (!wanted.ok) return wanted;
  const boundWorkspace = record.value.workspaceCwd;
  const requestedWorkspace = wanted.value.cwd;
  if (requestedWorkspace === boundWorkspace) return DONE;
  return fail("workspace_mismatch", { boundWorkspace, requestedWorkspace });
}

async function setMode(
  session: SessionAccess,
  actor: Actor,
  mode: RestoreBody["approvalMode"],
): Promise<Result<unknown>> {
  if (mode === undefined) return DONE;
  return session.command(actor, { type: "approval_mode", mode, persisted: false });
}

/** A late resume goes on: the next request finds the session, or joins the same resume. */
async function resumedInTime(
  { clock, settings }: Daemon,
  known: KnownSession,
  { clientId, actor }: RestoringClient,
): Promise<Result<JoinedSession> | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const callOff = clock.after(settings.sessionRestoreTimeoutMs, () => resolve("late"));
  const resuming = known.resume(actor, "after the answer");
  const first = await Promise.race([resuming, late]);
  callOff();
  if (first === "late") {
    void resuming.then((resumed) => (resumed.ok ? known.detach(clientId, actor) : null));
  }
  return first;
}

function tooLate({ settings }: Daemon, { known, action }: RestoreCall): Answer {
  const { sessionRestoreTimeoutMs: timeoutMs } = settings;
  const { sessionId } = known.key;
  const about = { errorKind: "restore_timeout", sessionId, action, timeoutMs };
  const retryMs = Math.min(Math.max(timeoutMs, RESTORE_RETRY_MS_MIN), RESTORE_RETRY_MS_MAX);
  const body = { ...errorBody(refusal("session_restore_timeout", about)), retryable: true };
  return json(504, body, { "Retry-After": `${Math.ceil(retryMs / 1_000)}` });
}

/**
 * Limits the memory of loads. A loaded history takes many megabytes, several times that while it is
 * built, and stays until its client has received it. So only a few are built at a time, and none
 * while too much waits for slow clients (P10). Later requests wait in order of arrival. Delivery
 * gives up an answer that its client does not take, so no request waits for ever.
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
    const chars = charsOf(answer);
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

function charsOf(answer: Answer): number {
  if (answer.kind === "pieces") return answer.texts.reduce((sum, { length }) => sum + length, 0);
  return answer.kind === "json" ? answer.text.length : 0;
}

const branchBody = z.object({
  name: z.string().nullish(),
  /** The last turn of the branch: its id, or the id of its prompt. */
  atRecordId: z.string().nullish(),
});

/** Creates a session that continues from a completed turn of another one, and joins it. */
export function branchRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/branch",
    about: ABOUT_BEGIN.branch,
    needs: "session:create",
    clientId: "shape",
    fields: branchBody,
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        const read = readBody(branchBody, request.body);
        if (!read.ok) return refused(read.refusal);
        const { name = null, atRecordId = null } = read.value;
        const badName = displayNameRefusal(name?.trim() ?? "");
        if (badName !== null) return refused(badName);
        const turnId = await turnAt(session, atRecordId);
        if (!turnId.ok) return refused(turnId.refusal);
        const order = { actor, turnId: turnId.value, name };
        const forked = await session.fork(order);
        if (!forked.ok) return refused(forked.refusal);
        if (forked.value === null) return refused(noSuchTurn(session, atRecordId));
        return joined(daemon, request, forked.value);
      }),
  });
}

/** The named turn, or null for the last one. Refused while a prompt has no verdict. */
async function turnAt(
  session: SessionAccess,
  recordId: string | null,
): Promise<Result<TurnId | null>> {
  const { sessionId } = session.key;
  if (pendingCount(session.session) > 0) return fail("branch_while_prompt_active", { sessionId });
  if (recordId === null) return ok(null);
  const named = parsePromptId(recordId);
  const turn = named === null ? ok(null) : await session.turnOfRecord(named);
  if (turn.ok && turn.value === null) return { ok: false, refusal: noSuchTurn(session, recordId) };
  return turn;
}

function noSuchTurn({ key: { sessionId } }: SessionAccess, atRecordId: string | null): Refusal {
  const at = atRecordId === null ? {} : { atRecordId };
  return refusal("branch_point_invalid", { sessionId, ...at });
}

/**
 * Opens the new session for the client. The session exists by then: if it cannot be opened now, the
 * answer describes it as stored, and the client can load it later.
 */
async function joined(
  { ids }: Daemon,
  request: SessionRequest,
  { known, displayName, forkedFrom }: ForkedSession,
): Promise<Answer> {
  const made = { sessionId: known.key.sessionId, displayName, forkedFrom };
  const clientId = request.clientId ?? freshClientId(ids.session());
  const actor = actorOf(request, clientId);
  const resumed = await known.resume(actor);
  if (!resumed.ok || clientId === null) return json(201, made);
  const { session, attached } = resumed.value;
  const [state, replay] = await Promise.all([session.agentState(), session.replay("full")]);
  if (!replay.ok) {
    // A client that does not learn its id could not detach under it either.
    await session.detach(clientId, actor);
    return json(201, made);
  }
  const { compactedTexts: compactedReplay, liveJournal, lastEventId, eventEpoch } = replay.value;
  const agentFailure = resumed.value.agentFailure ?? session.agentFailure;
  const body = {
    ...sessionBody(session, { attached, clientId }),
    hasActivePrompt: pendingCount(session.session) > 0,
    state,
    liveJournal,
    lastEventId,
    eventEpoch,
    ...(agentFailure !== null && { agentFailure: errorBody(agentFailure) }),
    ...made,
  };
  return reapIfLost(jsonWith(201, body, { compactedReplay }), {
    session,
    clientId,
    actor,
    isMade: false,
  });
}
