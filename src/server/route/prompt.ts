import { createHash } from "node:crypto";
import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { LiveSession } from "../../session/live.ts";
import type { PromptRequest } from "../../session/service.ts";
import { type Answer, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { attachmentRefusal, promptContent } from "../prompt-content.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const promptBody = z.looseObject({
  prompt: promptContent,
  deadlineMs: z.int().min(1).nullish(),
});

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

function readWish(body: JsonObject, key: string | null): Result<PromptRequest> {
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
  { runtime, world, settings }: Daemon,
  live: LiveSession,
  actor: Actor,
  request: PromptRequest,
): Promise<Answer> {
  const admitted = await runtime.prompt(live.key, actor, request);
  if (!admitted.ok) return refused(admitted.refusal);
  const { answer, eventEpoch, answered } = admitted.value;
  // Once the caller has its answer, and the time to read it, streams may have the verdict.
  const afterwards = () => void world.clock.after(settings.verdictLeadMs, answered);
  return { ...json(202, { ...answer, eventEpoch }), afterwards };
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
