import { pino } from "pino";
import { LOG_MESSAGES } from "../../core/log.ts";
import { requestScope } from "../../server/http/request-scope.ts";
import type { SessionWorld } from "../../session/world.ts";
import type { SecretGuard } from "../../store/index.ts";
import type { ServeOptions } from "./options.ts";

export type ServerLog = Required<Pick<SessionWorld, "log">> & Pick<SessionWorld, "trace">;

/**
 * Writes JSON lines to the error output. Each names the request that it belongs to, if any. The
 * guard searches each whole line for secrets and removes them.
 */
export function openLog(level: ServeOptions["log-level"], guard: SecretGuard): ServerLog {
  const lines = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: requestFields,
      hooks: { streamWrite: (line) => guard.redact(line) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  const isTraced = lines.isLevelEnabled("debug");
  return {
    log: (what, about) => lines[LOG_MESSAGES[what]](about, what),
    ...(isTraced && { trace: (what, about) => lines.debug(about, what) }),
  };
}

/** A new object each time, because pino writes into it. */
function requestFields(): object {
  const scope = requestScope.getStore();
  return scope === undefined ? {} : { requestId: scope.requestId, route: scope.route };
}
