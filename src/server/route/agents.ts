import { refusal } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { AGENT_TRACES_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { ChangeAct } from "../../session/audit/audited.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import { type Answer, answerTo, file, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { stewardOf } from "../identity/request.ts";
import { type Caller, type Route, route, type ServerRequest } from "../route.ts";
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
        told(daemon, caller, { act: "agent_logs_read", agent: params.name }, () => {
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
        told(daemon, caller, { act: "agent_restarted", agent: params.name }, () => {
          return json(200, keeper.restart(caller.tenantId, params.name));
        }),
    }),
  ];
}

/** What cannot be told to the audit is not done, and is not shown to anybody. */
async function told(
  daemon: Daemon,
  caller: Caller,
  { act, agent }: { readonly act: ChangeAct; readonly agent: string },
  answer: () => Answer,
): Promise<Answer> {
  const { agentNames } = daemon.world.settings;
  if (!agentNames.includes(agent)) {
    return refused(refusal("agent_unknown", { profile: agent, known: agentNames.join(", ") }));
  }
  return answerTo(await audited(daemon, caller, act, { agent }), answer);
}

function audited(
  { world }: Daemon,
  caller: Caller,
  act: ChangeAct,
  details: JsonObject,
): Promise<Result<void>> {
  const atMs = world.clock.nowMs();
  const entry = changeEntry({ act, by: stewardOf(caller), details, atMs });
  return world.store.appendJournal(caller.tenantId, [entry]);
}

/** Lines of JSON until the caller leaves or may read no more, or the server stops. */
async function traceOf(
  daemon: Daemon,
  { caller, signal }: ServerRequest<unknown>,
): Promise<Answer> {
  const { keeper, world } = daemon;
  const queue = new TraceQueue((line) => world.redact(line));
  const leave = keeper.trace(caller.tenantId, queue);
  if (leave === null) return refused(refusal("trace_limit_exceeded", { limit: AGENT_TRACES_MAX }));
  const ended = () => {
    leave();
    queue.ended();
  };
  signal.addEventListener("abort", ended, { once: true });
  if (signal.aborted) ended();
  const begun = await audited(daemon, caller, "agents_traced", {});
  if (!begun.ok) ended();
  return answerTo(begun, () => {
    return { ...file("application/x-ndjson", queue.pieces()), afterwards: ended, end: ended };
  });
}
