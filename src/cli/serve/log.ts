import { pino } from "pino";
import { LOG_MESSAGES } from "../../core/log.ts";
import { requestScope } from "../../server/http/pipeline.ts";
import type { SessionWorld } from "../../session/world.ts";
import type { SecretGuard } from "../../store/index.ts";
import type { Chosen } from "./options.ts";

export type ServerLog = Required<Pick<SessionWorld, "log">> & Pick<SessionWorld, "trace">;

/**
 * JSON lines on the error output. Each names the request on whose behalf it was written, if any,
 * and none has a secret in it: they are searched for in the whole line.
 */
export function openLog(level: Chosen["log-level"], guard: SecretGuard): ServerLog {
  const lines = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // A copy: the lines write into it.
      mixin: () => ({ ...requestScope.getStore() }),
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
