import { refusal } from "../../core/error.ts";
import { AGENT_TRACES_MAX } from "../../core/limits.ts";
import { type Answer, file, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { TraceQueue } from "../trace-queue.ts";

/** The processes of the caller's own tenant, for whoever runs its agents or writes one; ours. */
export function agentsRoutes(daemon: Daemon): readonly Route[] {
  const { keeper, world } = daemon;
  return [
    route({
      method: "GET",
      path: "/agents",
      gate: "caller",
      needs: "agents:write",
      clientId: "ignored",
      body: "json",
      handle: async ({ caller }) => json(200, { processes: keeper.processes(caller.tenantId) }),
    }),
    route({
      method: "GET",
      path: "/agents/trace",
      gate: "caller",
      needs: "agents:write",
      clientId: "ignored",
      body: "json",
      rate: "exempt",
      handle: async (request) => traceOf(daemon, request),
    }),
    route({
      method: "GET",
      path: "/agents/:name/logs",
      gate: "caller",
      needs: "agents:write",
      clientId: "ignored",
      body: "json",
      handle: async ({ caller, params }) =>
        unlessUnknown(daemon, params.name, () => {
          const logs = keeper.logs(caller.tenantId, params.name);
          const shown = logs.map((log) => ({ ...log, text: world.redact(log.text) }));
          return json(200, { logs: shown });
        }),
    }),
    route({
      method: "POST",
      path: "/agents/:name/restart",
      gate: "caller",
      needs: "agents:write",
      clientId: "ignored",
      body: "json",
      handle: async ({ caller, params }) =>
        unlessUnknown(daemon, params.name, () => {
          return json(200, keeper.restart(caller.tenantId, params.name));
        }),
    }),
  ];
}

function unlessUnknown({ world }: Daemon, profile: string, answer: () => Answer): Answer {
  const { agentNames } = world.settings;
  if (agentNames.includes(profile)) return answer();
  return refused(refusal("agent_unknown", { profile, known: agentNames.join(", ") }));
}

/** Lines of JSON until the caller leaves or the server stops. */
function traceOf({ keeper, world }: Daemon, { caller, signal }: ServerRequest<unknown>): Answer {
  const queue = new TraceQueue((line) => world.redact(line));
  const leave = keeper.trace(caller.tenantId, queue);
  if (leave === null) return refused(refusal("trace_limit_exceeded", { limit: AGENT_TRACES_MAX }));
  const ended = () => {
    leave();
    queue.ended();
  };
  signal.addEventListener("abort", ended, { once: true });
  if (signal.aborted) ended();
  return { ...file("application/x-ndjson", queue.pieces()), afterwards: ended };
}
