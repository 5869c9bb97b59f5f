import { availableCommands } from "../../session/view/commands.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** The slash commands that the session's agent offers (4.13). Skills of ours are not there yet. */
export function supportedCommandsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/supported-commands",
    gate: "caller",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }) => {
        const { sessionId } = key;
        const offered = await availableCommands(daemon.world.store, key);
        return answerTo(offered, (commands) => {
          return json(200, { v: 1, sessionId, availableCommands: commands, availableSkills: [] });
        });
      }),
  });
}
