import { refusal } from "../../core/error.ts";
import { parsePromptId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import type { LiveSession } from "../../session/live.ts";
import { currentTurn, type TurnSource, turnOf } from "../../session/view/turn-status.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withReader } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** How prompts stand, for clients that ask now and then instead of listening (wire, 4.13). */
export function turnRoutes(daemon: Daemon): readonly Route[] {
  return [currentRoute(daemon), promptRoute(daemon)];
}

function currentRoute(daemon: Daemon): Route {
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

function promptRoute(daemon: Daemon): Route {
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
