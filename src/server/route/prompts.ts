import { createHash } from "node:crypto";
import { z } from "zod";
import type { ContentBlock } from "../../core/agent-update.ts";
import { type Refusal, refusal } from "../../core/error.ts";
import { parsePromptId } from "../../core/id.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { PROMPT_BLOCKS_MAX, PROMPT_MEDIA_BLOCKS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Actor, Command, Idempotency } from "../../core/session/command.ts";
import type { RunningPrompt, Session, WaitingPrompt } from "../../core/session/state.ts";
import { givenBy } from "../../session/given-by.ts";
import type { LiveSession } from "../../session/live.ts";
import { promptStart, promptStarted, type WaitingForCredit } from "../../session/meter/index.ts";
import { currentTurn, type TurnSource, turnOf } from "../../session/view/turn-status.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, empty, json, refused } from "../http/answer.ts";
import { listOf, readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { actorOf, withLive, withReader, withSession } from "./session-request.ts";

/** What is wrong with a block of this type, in words that follow a colon. */
type Check = (block: JsonObject) => string | null;

/** Blocks of other types are the agent's to judge: it alone knows what it can take. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  ["text", (block) => (stringAt(block, "text") === null ? "its text is missing" : null)],
  ["image", imageProblem],
]);

const block = z.looseObject({ type: z.string().min(1) }).check(({ value, issues }) => {
  const problem = CHECKS.get(value.type)?.(value) ?? null;
  if (problem !== null) issues.push({ code: "custom", input: value, message: problem });
});

const tooManyMedia = `at most ${PROMPT_MEDIA_BLOCKS_MAX} blocks may be something else than text`;

/** Blocks that came from outside, as many as there may be and each as its type wants it. */
const blocks = listOf(block, PROMPT_BLOCKS_MAX).refine(
  (all) => mediaCount(all) <= PROMPT_MEDIA_BLOCKS_MAX,
  { error: tooManyMedia },
);

/** What a prompt consists of (wire, 4.8). */
export const promptContent = blocks.refine((all) => all.length > 0, {
  error: "it needs at least one block",
});

/** What goes with a message into a running turn: pictures, beside its own text. */
export const mediaContent = promptContent.refine((all) => mediaCount(all) === all.length, {
  error: "it is for blocks beside the message's text",
});

/** Why an image that was to be here already is not. */
export function attachmentRefusal(content: readonly ContentBlock[]): Refusal | null {
  const named = content.map((one) => stringAt(one, "attachmentId")).find((id) => id !== null);
  if (named === undefined) return null;
  return refusal("invalid_session_attachment_reference", { attachmentId: named });
}

function mediaCount(content: readonly ContentBlock[]): number {
  return content.filter(({ type }) => type !== "text").length;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A picture comes as it is, or by the name under which it was sent before; never as a program. */
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

/** What a caller wants done, as far as its body says so. */
interface PromptWish {
  readonly content: readonly ContentBlock[];
  /** Null is as long as the server allows. */
  readonly deadlineMs: number | null;
  readonly params: JsonObject | null;
  readonly isRetry: boolean;
  readonly idempotency: Idempotency;
}

/** Admits a prompt: its result comes by the session's stream (wire, 4.8). */
export function promptRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/prompt",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    rate: "prompt",
    honours: ["non_blocking_prompt"],
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const wish = readWish(request.body, request.header("idempotency-key"));
        return wish.ok ? admit(daemon, live, actor, wish.value) : refused(wish.refusal);
      }),
  });
}

function readWish(body: JsonObject, key: string | null): Result<PromptWish> {
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

/** Where the caller reads on is noted before the prompt is there, so that it misses nothing. */
async function admit(
  daemon: Daemon,
  live: LiveSession,
  actor: Actor,
  wish: PromptWish,
): Promise<Answer> {
  const { runtime, world, settings } = daemon;
  const { epoch: eventEpoch } = live;
  const prompt = promptOf(daemon, live, actor, wish);
  const given = promptStart(world, live, prompt);
  // Where nothing has to be weighed, nothing is waited for.
  const paid = given instanceof Promise ? await given : given;
  // Also what nobody can pay for is said to the session: the audit is told by its refusal.
  const admitted = await runtime.prompt(live.key, { ...prompt, ...paid });
  await promptStarted(world, live, paid.start, admitted.ok ? null : admitted.refusal);
  if (!admitted.ok) return refused(admitted.refusal);
  const { answer, answered } = admitted.value;
  // Once the caller has its answer, and the time to read it, streams may have the verdict.
  const afterwards = () => void world.clock.after(settings.verdictLeadMs, answered);
  return { ...json(202, { ...answer, eventEpoch }), afterwards };
}

function promptOf(
  { world }: Daemon,
  live: LiveSession,
  actor: Actor,
  { content, params, isRetry, idempotency, deadlineMs }: PromptWish,
): Command<"prompt"> {
  const { clock, ids, settings } = world;
  const atMs = clock.nowMs();
  // Others have seen the words of a prompt that failed; any other prompt is shown to them.
  const isSeen = isRetry && live.session.lastTurnError !== null;
  return {
    type: "prompt",
    atMs,
    actor,
    promptId: ids.prompt(),
    content,
    deadlineAtMs: deadlineAt(atMs, settings.promptMs, deadlineMs),
    idempotency,
    lastEventId: live.lastEventId,
    params,
    pendingMax: settings.pendingPromptsMax,
    echo: !isSeen,
  };
}

/** A caller can only shorten the time that the server gives; where it gives all, that stays. */
function deadlineAt(nowMs: number, serverMs: number | null, wantedMs: number | null) {
  return serverMs === null ? null : nowMs + Math.min(serverMs, wantedMs ?? serverMs);
}

/** Said to us, and not to the agent. */
const OURS: ReadonlySet<string> = new Set([
  "prompt",
  "sessionId",
  "promptId",
  "deadlineMs",
  "delivery",
  "eventDetailMode",
]);

/** By these an agent knows what its server vouches for, so no caller may say them. */
const PRIVATE_META = /^(fermata|qwen\.(daemon|channel|submittedPrompt))(\.|$)/;

/** What else goes into the agent's prompt request, word for word. */
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

/** Prompts without a verdict: to be seen, and to be taken back (wire, 4.13). */
export function pendingPromptsRoutes(daemon: Daemon): readonly Route[] {
  return [pendingPromptsRoute(daemon), removePromptRoute(daemon)];
}

function pendingPromptsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/pending-prompts",
    gate: "caller",
    needs: "session:read",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async ({ session, credit }) => {
        return json(200, { pendingPrompts: pendingPrompts(session, credit.waitingForCredit) });
      }),
  });
}

/** The one at work, and then those that wait, in order; and for what, beside their turn. */
function pendingPrompts({ running, queue }: Session, wait: WaitingForCredit | null) {
  const atWork = running === null ? [] : [{ ...summaryOf(running, "running"), waitsFor: null }];
  const { promptId: waits = null, ...waitsFor } = wait ?? {};
  const waiting = queue.map((prompt) => ({
    ...summaryOf(prompt, "queued"),
    waitsFor: prompt.promptId === waits ? waitsFor : null,
  }));
  return [...atWork, ...waiting];
}

/** Beside the text there is what is no text, so that a client can show the whole again. */
function summaryOf(prompt: WaitingPrompt | RunningPrompt, state: "queued" | "running") {
  const { promptId, text, admittedAtMs: queuedAt, clientId } = prompt;
  const content = prompt.content.filter(({ type }) => type !== "text");
  const media = content.length === 0 ? {} : { content };
  const originator = clientId === null ? {} : { originatorClientId: clientId };
  return { promptId, text, ...media, queuedAt, state, ...originator };
}

/** One that waits has never been; the one at work is cancelled. */
function removePromptRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "DELETE",
    path: "/session/:id/pending-prompts/:promptId",
    gate: "caller",
    needs: "session:steer",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async ({ key }, actor) => {
        const promptId = parsePromptId(request.params.promptId);
        if (promptId === null) return json(200, { removed: false });
        const command = { atMs: world.clock.nowMs(), actor, promptId };
        const removed = await runtime.submit(key, { type: "remove_prompt", ...command });
        const isUnknown = !removed.ok && removed.refusal.code === "prompt_not_found";
        if (removed.ok || isUnknown) return json(200, { removed: removed.ok });
        return refused(removed.refusal);
      }),
  });
}

/** Stops the prompt at work; those that wait go on (wire, 4.9). */
export function cancelRoute({ runtime, world }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/cancel",
    gate: "caller",
    needs: "session:steer",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const by = givenBy(world.clock, actorOf(request));
        const cancelled = await runtime.submit(key, { type: "cancel", ...by });
        return answerTo(cancelled, () => empty());
      }),
  });
}

/** How prompts stand, for clients that ask now and then instead of listening (wire, 4.13). */
export function turnRoutes(daemon: Daemon): readonly Route[] {
  return [currentTurnRoute(daemon), turnRoute(daemon)];
}

function currentTurnRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/turns/current",
    gate: "caller",
    needs: "session:read",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async (live) => {
        const turn = await currentTurn(sourceOf(daemon, live));
        return answerTo(turn, (status) => json(200, status));
      }),
  });
}

function turnRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/turns/:promptId",
    gate: "caller",
    needs: "session:read",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async (live) => {
        const { sessionId } = live.key;
        const { promptId } = request.params;
        const parsed = parsePromptId(promptId);
        const turn = parsed === null ? ok(null) : await turnOf(sourceOf(daemon, live), parsed);
        return answerTo(turn, (status) => {
          if (status !== null) return json(200, status);
          return refused(refusal("prompt_not_found", { sessionId, promptId }));
        });
      }),
  });
}

function sourceOf({ world }: Daemon, { key, session }: LiveSession): TurnSource {
  return { key, session, store: world.store };
}
