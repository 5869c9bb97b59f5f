import { LOG_LINES_WAITING_BYTES_MAX } from "../../core/limits.ts";
import { LOG_MESSAGES } from "../../core/log.ts";
import { requestScope } from "../../server/http/request-scope.ts";
import type { SessionWorld } from "../../session/world.ts";
import type { SecretGuard } from "../../store/index.ts";
import type { ServeOptions } from "./options.ts";

export type ServerLog = Required<Pick<SessionWorld, "log">> & Pick<SessionWorld, "trace">;

/** The levels in their order. A log has what is at its own or after it. */
const LEVELS: readonly ServeOptions["log-level"][] = ["debug", "info", "warn", "error", "silent"];

/**
 * Writes JSON lines to the error output. Each names the request that it belongs to, if any. The
 * guard searches each whole line for secrets and removes them. Where the output is not read, lines
 * wait up to a limit, and those beyond it are counted.
 */
export function openLog(lowest: ServeOptions["log-level"], guard: SecretGuard): ServerLog {
  const output = process.stderr;
  let lost = 0;
  const isLogged = (level: ServeOptions["log-level"]) =>
    LEVELS.indexOf(level) >= LEVELS.indexOf(lowest);
  const print = (level: ServeOptions["log-level"], msg: string, about: object) => {
    const line = { level, time: new Date().toISOString(), ...about, msg };
    output.write(`${guard.redact(JSON.stringify(line))}\n`);
  };
  const write = (level: ServeOptions["log-level"], msg: string, about: object) => {
    if (!isLogged(level)) return;
    if (output.writableLength > LOG_LINES_WAITING_BYTES_MAX) {
      lost += 1;
      return;
    }
    if (lost > 0) print(LOG_MESSAGES["log lines lost"], "log lines lost", { count: lost });
    lost = 0;
    print(level, msg, { ...requestFields(), ...about });
  };
  return {
    log: (what, about) => write(LOG_MESSAGES[what], what, about),
    ...(isLogged("debug") && { trace: (what, about) => write("debug", what, about) }),
  };
}

function requestFields(): object {
  const scope = requestScope.getStore();
  return scope === undefined ? {} : { requestId: scope.requestId, route: scope.route };
}
