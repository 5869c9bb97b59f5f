import { offeredCommands } from "../../core/slash/commands.ts";
import { NO_KNOWLEDGE, readKnowledge } from "../../session/choice/knowledge.ts";
import { availableCommands } from "../../session/view/commands.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** The slash commands of a session, ours and its agent's, and its skills (4.13). */
export function supportedCommandsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/supported-commands",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { store } = daemon.world;
        const { sessionId, tenantId } = live.key;
        const known = await readKnowledge(store, tenantId, live.session.chosen);
        // What cannot be read of it is missing here; its own commands are there all the same (P6).
        const { skills } = known.ok ? known.value : NO_KNOWLEDGE;
        const own = await availableCommands(store, live);
        return answerTo(own, (commands) => {
          const availableCommands = offeredCommands(skills, commands);
          const availableSkills = skills.entries.map(({ skill_name }) => skill_name);
          return json(200, { v: 1, sessionId, availableCommands, availableSkills });
        });
      }),
  });
}
