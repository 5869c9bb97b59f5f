import { stringAt } from "../../core/json.ts";
import { notice } from "../../session/bus/frame.ts";
import type { LiveSession } from "../../session/live.ts";
import { answerTo, events, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";
import { readStreamWish } from "../stream/wish.ts";

/** What happens in a session, from a given event on or from now on (wire, 6). */
export function eventsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/events",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    rate: "exempt",
    honours: ["slow_client_warning", "typed_event_schema"],
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const wish = readStreamWish(request);
        if (!wish.ok) return refused(wish.refusal);
        const { wantsSnapshot, ...from } = wish.value;
        const snapshot = wantsSnapshot ? { snapshot: () => snapshotOf(live) } : {};
        const stream = await daemon.runtime.subscribe(live.key, { ...from, ...snapshot });
        return answerTo(stream, (source) => events(source, source.epoch));
      }),
  });
}

function snapshotOf({ key, session, agent }: LiveSession) {
  const { modelConfig, approvalMode } = session.chosen;
  return notice("session_snapshot", {
    sessionId: key.sessionId,
    currentModelId: modelConfig.modelId ?? offeredModel(agent),
    currentApprovalMode: approvalMode,
  });
}

/** Where nobody has chosen a model, it is the one that the agent came with. */
function offeredModel(agent: LiveSession["agent"]): string | null {
  const option = agent?.offer.configOptions.find(({ category }) => category === "model");
  return option === undefined ? null : stringAt(option, "currentValue");
}
