import { refusal } from "../../core/error.ts";
import { askingDoubt } from "../../session/view/approvals.ts";
import { seenClients, summaryOfLive, summaryOfStored } from "../../session/view/summary.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

/** A session as a list shows it, with who is there (wire, 4.13). Nothing is opened for a look. */
export function sessionStatusRoute({ runtime, world }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/status",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const { sessionId } = key;
        const live = runtime.peek(key);
        if (live?.session.closed === false) {
          const clients = seenClients(live);
          return json(200, { ...summaryOfLive(live), ...askingDoubt(world, live), clients });
        }
        return answerTo(await world.store.readRecord(key), (record) => {
          if (record.closed) return refused(refusal("session_not_found", { sessionId }));
          return json(200, { ...summaryOfStored(record), clients: [] });
        });
      }),
  });
}
