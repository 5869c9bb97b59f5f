import { parsePromptId } from "../../core/id.ts";
import type { RunningPrompt, Session, WaitingPrompt } from "../../core/session/state.ts";
import type { WaitingForCredit } from "../../session/meter/index.ts";
import { json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withReader } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** Prompts without a verdict: to be seen, and to be taken back (wire, 4.13). */
export function pendingPromptsRoutes(daemon: Daemon): readonly Route[] {
  return [listRoute(daemon), removeRoute(daemon)];
}

function listRoute(daemon: Daemon): Route {
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
function removeRoute(daemon: Daemon): Route {
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
