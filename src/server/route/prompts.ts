import { createHash } from "node:crypto";
import { z } from "zod";
import type { ContentBlock } from "../../core/agent-update.ts";
import { type Refusal, refusal } from "../../core/error.ts";
import { type PromptId, parsePromptId } from "../../core/id.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { PROMPT_BLOCKS_MAX, PROMPT_MEDIA_BLOCKS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import {
  type RunningPrompt,
  type Session,
  type WaitingPrompt,
  waitingMessages,
} from "../../core/session/state.ts";
import {
  hasEnded,
  type PromptRequest,
  type SessionAccess,
  type WaitingForCredit,
} from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import {
  type Answer,
  type AnswerFate,
  answerTo,
  empty,
  json,
  type ReadyAnswer,
  refused,
} from "../http/answer.ts";
import { listOf, readBody, readWait, waitQuery } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { ABOUT_PROMPTS } from "./about/prompts.ts";
import { withReader, withSession } from "./session-request.ts";

/** Says what is wrong with a block of this type, in words that follow a colon. */
type BlockCheck = (block: JsonObject) => string | null;

/** Blocks of other types are passed on unchecked: only the agent knows what it accepts. */
const CHECKS: ReadonlyMap<string, BlockCheck> = new Map([
  ["text", (block) => (stringAt(block, "text") === null ? "its text is missing" : null)],
  ["image", imageProblem],
]);

const block = z.looseObject({ type: z.string().min(1) }).check(({ value, issues }) => {
  const problem = CHECKS.get(value.type)?.(value) ?? null;
  if (problem !== null) issues.push({ code: "custom", input: value, message: problem });
});

const tooManyMedia = `at most ${PROMPT_MEDIA_BLOCKS_MAX} blocks may be something else than text`;

/** Blocks of a request, within their limits. */
const blocks = listOf(block, PROMPT_BLOCKS_MAX).refine(
  (all) => mediaCount(all) <= PROMPT_MEDIA_BLOCKS_MAX,
  { error: tooManyMedia },
);

/** The content of a prompt. */
export const promptContent = blocks.refine((all) => all.length > 0, {
  error: "it needs at least one block",
});

/** Media that accompany a mid-turn message. */
export const mediaContent = promptContent.refine((all) => mediaCount(all) === all.length, {
  error: "it takes only blocks that are not text",
});

/** Refuses a reference to an attachment that this server does not have. */
export function attachmentRefusal(content: readonly ContentBlock[]): Refusal | null {
  const named = content.map((one) => stringAt(one, "attachmentId")).find((id) => id !== null);
  if (named === undefined) return null;
  return refusal("invalid_session_attachment_reference", { attachmentId: named });
}

function mediaCount(content: readonly ContentBlock[]): number {
  return content.filter(({ type }) => type !== "text").length;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * An image comes as data or as the id of an attachment. SVG is refused because it can contain
 * scripts.
 */
function imageProblem(image: JsonObject): string | null {
  const mimeType = stringAt(image, "mimeType")?.toLowerCase() ?? "";
  if (!/^image\/./.test(mimeType)) return "an image has a mimeType that begins with image/";
  if (mimeType.startsWith("image/svg")) return "SVG images are not supported";
  const data = stringAt(image, "data") ?? "";
  const isNamed = (stringAt(image, "attachmentId") ?? "") !== "";
  if ((data !== "") === isNamed) return "an image has either data or an attachmentId";
  if (isNamed) return isSize(image.size) ? null : "an attachment has a size above zero";
  return BASE64.test(data) ? null : "an image's data is base64";
}

function isSize(size: unknown): boolean {
  return typeof size === "number" && Number.isSafeInteger(size) && size > 0;
}

const promptBody = z.looseObject({
  prompt: promptContent,
  deadlineMs: z.int().min(1).nullish(),
});

/** Admits a prompt. Its result comes on the session's stream. */
export function promptRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/prompt",
    about: ABOUT_PROMPTS.send,
    query: waitQuery,
    content: promptBody,
    needs: "session:write",
    clientId: "registered",
    rate: "prompt",
    answersHalfClosed: true,
    honours: ["non_blocking_prompt"],
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        const waitMs = readWait(request.query);
        if (!waitMs.ok) return refused(waitMs.refusal);
        const wanted = readPromptRequest(request.body, request.header("idempotency-key"));
        if (!wanted.ok) return refused(wanted.refusal);
        if (waitMs.value === null) return admit(session, actor, wanted.value);
        return admitAndWait(session, actor, wanted.value, waitMs.value);
      }),
  });
}

function readPromptRequest(body: JsonObject, key: string | null): Result<PromptRequest> {
  const read = readBody(promptBody, body, { deadlineMs: "invalid_deadline_ms" });
  if (!read.ok) return read;
  const { prompt: content, deadlineMs = null } = read.value;
  const missing = attachmentRefusal(content);
  if (missing !== null) return { ok: false, refusal: missing };
  return ok({
    content,
    deadlineMs,
    params: paramsOf(body),
    isRetry: body.retry === true,
    idempotency: key === null ? null : { key, hash: hashOf(body) },
  });
}

async function admit(
  session: SessionAccess,
  actor: Actor,
  request: PromptRequest,
): Promise<Answer> {
  const admitted = await session.prompt(actor, request);
  if (!admitted.ok) return refused(admitted.refusal);
  const { answer, eventEpoch, hold } = admitted.value;
  // A client that reads its verdict before this answer would wait for the verdict for ever.
  const afterwards = (fate: AnswerFate) => hold.answered(fate === "delivered" ? "sent" : "settled");
  const wantsAcknowledgement = hold.isAwaited();
  return { ...json(202, { ...answer, eventEpoch }), afterwards, wantsAcknowledgement };
}

/**
 * Answers with the verdict, or with the usual 202 when the wait is over. The client need not read
 * this answer before it reads its streams, so no verdict is held there.
 */
async function admitAndWait(
  session: SessionAccess,
  actor: Actor,
  request: PromptRequest,
  ms: number,
): Promise<Answer> {
  const admitted = await session.prompt(actor, request);
  if (!admitted.ok) return refused(admitted.refusal);
  const { answer, eventEpoch, hold } = admitted.value;
  hold.answered("settled");
  const promptId = answer !== null && "promptId" in answer ? answer.promptId : null;
  if (promptId === null) return json(202, { ...answer, eventEpoch });
  return waiting(session, promptId, ms, (turn) => {
    const ended = turn.ok && turn.value !== null && hasEnded(turn.value) ? turn.value : null;
    if (ended === null) return json(202, { ...answer, eventEpoch });
    return json(200, { ...answer, eventEpoch, turn: ended });
  });
}

type FoundTurn = Awaited<ReturnType<SessionAccess["turn"]>>;

/** Answers when the turn has its verdict, or when the wait is over. */
function waiting(
  session: SessionAccess,
  promptId: PromptId,
  ms: number,
  answerOf: (turn: FoundTurn) => ReadyAnswer,
): Answer {
  const settle = async (signal: AbortSignal) =>
    answerOf(await session.turnWhenEnded(promptId, { ms, signal }));
  return { kind: "waiting", settle };
}

/** Fields for the server, which the agent does not get. */
const OURS: ReadonlySet<string> = new Set([
  "prompt",
  "sessionId",
  "promptId",
  "deadlineMs",
  "delivery",
  "eventDetailMode",
]);

/** Agents trust these keys as the server's own, so clients may not set them. */
const PRIVATE_META = /^(fermata|qwen\.(daemon|channel|submittedPrompt))(\.|$)/;

/** Further fields, which go into the agent's prompt request unchanged. */
function paramsOf(body: JsonObject): JsonObject | null {
  const { _meta, ...rest } = body;
  const params = Object.entries(rest).filter(([name]) => !OURS.has(name));
  const meta = Object.entries(isObject(_meta) ? _meta : {}).filter(
    ([name]) => !PRIVATE_META.test(name),
  );
  if (meta.length > 0) params.push(["_meta", Object.fromEntries(meta)]);
  return params.length === 0 ? null : Object.fromEntries(params);
}

function hashOf(body: JsonObject): string {
  return createHash("sha256").update(JSON.stringify(body)).digest("hex");
}

/** Lists and removes prompts that have no verdict yet. */
export function pendingPromptsRoutes(daemon: Daemon): readonly Route[] {
  return [pendingPromptsRoute(daemon), removePromptRoute(daemon)];
}

function pendingPromptsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/pending-prompts",
    about: ABOUT_PROMPTS.pending,
    needs: "session:read",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async ({ session, waitingForCredit }) => {
        return json(200, { pendingPrompts: pendingPrompts(session, waitingForCredit) });
      }),
  });
}

/**
 * The running prompt, then the queued ones in order, with what a queued one waits for. Messages
 * into a turn have a list of their own until they are next.
 */
function pendingPrompts(session: Session, wait: WaitingForCredit | null) {
  const { running } = session;
  const messages = new Set<WaitingPrompt>(waitingMessages(session));
  const queue = session.queue.filter((prompt) => !messages.has(prompt));
  const atWork = running === null ? [] : [{ ...summaryOf(running, "running"), waitsFor: null }];
  const { promptId: waits = null, ...waitsFor } = wait ?? {};
  const waiting = queue.map((prompt) => ({
    ...summaryOf(prompt, "queued"),
    waitsFor: prompt.promptId === waits ? waitsFor : null,
  }));
  return [...atWork, ...waiting];
}

/** Includes the blocks that are not text, so that a client can show the whole prompt. */
function summaryOf(prompt: WaitingPrompt | RunningPrompt, state: "queued" | "running") {
  const { promptId, text, admittedAtMs: queuedAt, clientId } = prompt;
  const content = prompt.content.filter(({ type }) => type !== "text");
  const media = content.length === 0 ? {} : { content };
  const originator = clientId === null ? {} : { originatorClientId: clientId };
  return { promptId, text, ...media, queuedAt, state, ...originator };
}

/** Removes a queued prompt, or cancels the running one. */
function removePromptRoute(daemon: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id/pending-prompts/:promptId",
    about: ABOUT_PROMPTS.remove,
    needs: "session:steer",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (session, actor) => {
        const promptId = parsePromptId(request.params.promptId);
        if (promptId === null) return json(200, { removed: false });
        const removed = await session.command(actor, { type: "remove_prompt", promptId });
        const isUnknown = !removed.ok && removed.refusal.code === "prompt_not_found";
        if (removed.ok || isUnknown) return json(200, { removed: removed.ok });
        return refused(removed.refusal);
      }),
  });
}

/** Cancels the running prompt. Queued prompts go on. */
export function cancelRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/cancel",
    about: ABOUT_PROMPTS.cancel,
    needs: "session:steer",
    clientId: "registered",
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        const cancelled = await session.command(actor, { type: "cancel" });
        return answerTo(cancelled, () => empty());
      }),
  });
}

/** Status of turns, for clients that poll instead of reading the stream. */
export function turnRoutes(daemon: Daemon): readonly Route[] {
  return [currentTurnRoute(daemon), turnRoute(daemon)];
}

function currentTurnRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/turns/current",
    about: ABOUT_PROMPTS.currentTurn,
    needs: "session:read",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (session) => {
        const turn = await session.currentTurn();
        return answerTo(turn, (status) => json(200, status));
      }),
  });
}

function turnRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/turns/:promptId",
    about: ABOUT_PROMPTS.turn,
    query: waitQuery,
    needs: "session:read",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (session) => {
        const { sessionId } = session.key;
        const { promptId } = request.params;
        const waitMs = readWait(request.query);
        if (!waitMs.ok) return refused(waitMs.refusal);
        const shown = (turn: FoundTurn) =>
          answerTo(turn, (found) => {
            if (found === null)
              return refused(refusal("prompt_not_found", { sessionId, promptId }));
            return json(waitMs.value === null || hasEnded(found) ? 200 : 202, found);
          });
        const parsed = parsePromptId(promptId);
        if (parsed === null) return shown(ok(null));
        if (waitMs.value === null) return shown(await session.turn(parsed));
        return waiting(session, parsed, waitMs.value, shown);
      }),
  });
}
