import type { ErrorCode, Refusal } from "../core/error.ts";
import type { Log } from "../core/remark.ts";
import type { Result } from "../core/result.ts";
import type { SessionStore } from "../store/store.ts";

/**
 * Wraps a store so that its refusals reveal no file paths to clients: a reason that contains a path
 * goes to the log, and the client is referred to it.
 */
export function withoutPaths(store: SessionStore, log: Log): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (typeof own !== "function") return own;
      return async (...args: readonly unknown[]) => {
        const answer: Result<unknown> = await own.apply(target, args);
        if (answer.ok || !tellsPlace(answer.refusal)) return answer;
        const { code, details } = answer.refusal;
        log("store failed", { operation: String(name), code, reason: `${details.reason}` });
        return { ok: false, refusal: { code, details: { ...details, reason: ELSEWHERE } } };
      };
    },
  });
}

const ELSEWHERE = "the server's log says why";

/** Their reasons are messages of the disk, the database or the system. */
const TECHNICAL: ReadonlySet<ErrorCode> = new Set(["store_unavailable", "session_corrupt"]);

/** The beginning of an absolute path, on any system. */
const PLACE = /(?:^|[^\w.])(?:\/|[A-Za-z]:\\|\\\\)[^\s/]/;

function tellsPlace({ code, details: { reason } }: Refusal): boolean {
  return TECHNICAL.has(code) && typeof reason === "string" && PLACE.test(reason);
}
